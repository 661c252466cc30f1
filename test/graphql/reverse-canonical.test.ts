import { expect, test } from 'vitest';
import { type Caller, createRepository, executeFhirGraphql } from '../../src/index.js';
import { overStores, signedIn, system } from '../repository/harness.js';

const URL = 'http://forms.example/phq';
const form = (id: string, more: object): object => ({ resourceType: 'Questionnaire', id, status: 'active', ...more });
const response = (id: string, questionnaire: string): object => ({ resourceType: 'QuestionnaireResponse', id, status: 'completed', questionnaire }); // prettier-ignore

overStores('a reverse list by a canonical', (open) => {
  const STORED = [
    form('one', { url: URL, version: '1' }),
    form('two', { url: URL, version: '2' }),
    form('other', { url: 'http://forms.example/other' }),
    form('without', {}),
    ...[response('any', URL), response('of-one', `${URL}|1`), response('of-two', `${URL}|2`), response('of-ten', `${URL}|10`)],
    response('by-id', 'Questionnaire/without'),
  ]; // prettier-ignore

  async function ask(query: string, callerOf?: (store: never) => Promise<Caller>): Promise<unknown> {
    const store = open();
    await system(store);
    const { serverCaller } = await import('../../src/access/caller.js');
    const trusted = serverCaller('clinic');
    for (const one of STORED) await createRepository({ store, caller: trusted }).update(one as never);
    const caller = callerOf === undefined ? trusted : await callerOf(store as never);
    const { data, errors } = await executeFhirGraphql(query, { store, caller });
    expect(errors).toBeUndefined();
    return data;
  }

  test('has the resources that name the version, or no version', async () => {
    const data = await ask(
      '{ QuestionnaireList(_sort: "_id") { id QuestionnaireResponseList(_reference: questionnaire, _sort: "_id") { id } } }',
    );
    const ids = (...list: readonly string[]): object[] => list.map((id) => ({ id }));
    expect(data).toEqual({
      QuestionnaireList: [
        { id: 'one', QuestionnaireResponseList: ids('any', 'of-one') },
        { id: 'other', QuestionnaireResponseList: [] },
        { id: 'two', QuestionnaireResponseList: ids('any', 'of-two') },
        { id: 'without', QuestionnaireResponseList: ids('by-id') },
      ],
    });
  });

  test('has pages, counts and conditions', async () => {
    const connection = 'QuestionnaireResponseConnection(_reference: questionnaire, _count: 1, _sort: "_id") { count edges { resource { id } } }';
    const data = await ask(
      `{ Questionnaire(id: "two") { ${connection} QuestionnaireResponseList(_reference: questionnaire, _id: "any") { id } } }`,
    );
    expect(data).toEqual({
      Questionnaire: {
        QuestionnaireResponseConnection: { count: 2, edges: [{ resource: { id: 'any' } }] },
        QuestionnaireResponseList: [{ id: 'any' }],
      },
    });
  }); // prettier-ignore

  test('leads nowhere for callers from whom the URL is hidden', async () => {
    const rules = [{ resourceType: 'Questionnaire', hiddenFields: ['url'] }, { resourceType: 'QuestionnaireResponse' }];
    const data = await ask(
      '{ Questionnaire(id: "one") { QuestionnaireResponseList(_reference: questionnaire) { id } } }',
      (store) => signedIn(store, { rules: rules }),
    );
    expect(data).toEqual({ Questionnaire: { QuestionnaireResponseList: [] } });
  });
});
