import { beforeEach, describe, expect, test } from 'vitest';
import { openService, type Answer, type CallOptions, type Service } from './open-service.js';

const OBSERVATION =
  '{"resourceType":"Observation","id":"o","status":"final","code":{"text":"x"},"subject":{"reference":"Patient/p"},"valueQuantity":{"value":1.00},"component":[{"code":{"text":"y"},"valueQuantity":{"value":66.899999999999991}}]}';
const CHARGE =
  '{"resourceType":"ChargeItem","id":"c","status":"billable","code":{"text":"x"},"subject":{"reference":"Patient/p"},"factorOverride":1.50}';

let service: Service;
beforeEach(async () => {
  service = await openService();
  await service.trusted.update({ resourceType: 'Patient', id: 'p' });
  await send('PUT', 'Observation/o', OBSERVATION);
  await send('PUT', 'ChargeItem/c', CHARGE);
});

function send(method: string, path: string, body?: string, type = 'application/fhir+json'): Promise<Answer> {
  const options: CallOptions = body === undefined ? {} : { body, headers: { 'content-type': type } };
  return service.call(method, path, options);
}

/** Without the elements that the service adds. */
const content = ({ text }: Answer): string => text.replace(/"meta":\{[^}]*\},/g, '');

describe('the handler answers decimals as sent', () => {
  test.each([
    ['GET', 'Observation/o'],
    ['GET', 'Observation/o/_history/1'],
    ['GET', 'Observation?code:text=x'],
    ['GET', 'Observation/o/_history'],
    ['GET', 'Patient/p/$everything'],
  ])('%s %s', async (method, path) => {
    expect(content(await send(method, path))).toContain(OBSERVATION);
  });

  test('at the top level of a resource, after a conditional update too', async () => {
    expect(content(await send('GET', 'ChargeItem/c'))).toBe(CHARGE);
    const body = CHARGE.replace('"id":"c",', '').replace('1.50', '1.500');
    const written = await send('PUT', 'ChargeItem?subject=Patient/p', body);
    expect(content(written)).toContain('"factorOverride":1.500');
    expect(content(await send('GET', 'ChargeItem/c'))).toContain('"factorOverride":1.500');
  });

  test('when they are created, patched and sent in a Bundle', async () => {
    expect(content(await send('POST', 'Observation', OBSERVATION))).toContain('"value":1.00');
    const patch =
      '[{"op":"replace","path":"/status","value":"amended"},{"op":"add","path":"/valueQuantity/value","value":2.50}]';
    const patched = await send('PATCH', 'Observation/o', patch, 'application/json-patch+json');
    const expected = OBSERVATION.replace('final', 'amended').replace('1.00', '2.50');
    expect(content(patched)).toBe(expected);
    const entry = `{"resource":${OBSERVATION},"request":{"method":"PUT","url":"Observation/o"}},{"request":{"method":"GET","url":"ChargeItem/c"}}`;
    const response = await send('POST', '', `{"resourceType":"Bundle","type":"transaction","entry":[${entry}]}`);
    expect(content(response)).toContain(CHARGE);
    expect(content(await send('GET', 'Observation/o'))).toBe(OBSERVATION);
  });

  test('in several lines', async () => {
    const { text } = await send('GET', 'Observation/o?_pretty=true');
    expect(text).toContain('  "valueQuantity": {\n    "value": 1.00\n  },');
    expect(JSON.stringify(JSON.parse(text), undefined, 2).length).toBe(text.length - '.00'.length - 1);
  });

  test.each([[undefined], ['2026-08-06' as const]])('by GraphQL, draft %s', async (graphqlOverHttp) => {
    service = await openService({ graphqlOverHttp });
    await send('PUT', 'Observation/o', OBSERVATION);
    const query = '{ Observation(id: \\"o\\") { valueQuantity { value } component { valueQuantity { value } } } }';
    const { text } = await send('POST', '$graphql', `{"query":"${query}"}`, 'application/json');
    expect(text).toBe(
      '{"data":{"Observation":{"valueQuantity":{"value":1.00},"component":[{"valueQuantity":{"value":66.899999999999991}}]}}}',
    );
  });
});
