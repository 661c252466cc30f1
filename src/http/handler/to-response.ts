import { stringifyJson } from '../../fhir/json/stringify-json.js';
import type { HttpResponse } from '../http-types.js';
import type { Answer } from '../exchange/answer.js';
import type { Format } from './negotiate.js';

/** Headers of every response: nothing here may be kept by caches or read as another type. */
const COMMON = {
  'cache-control': 'no-store',
  vary: 'accept, authorization, prefer',
  'x-content-type-options': 'nosniff',
} as const;

export function toResponse(answer: Answer, format: Format, isHead: boolean): Response {
  const { status, headers, json, type, text, bytes, stream } = answer;
  const body = json === undefined ? (bytes ?? stream ?? text) : stringifyJson(json, format.pretty ? 2 : 0);
  const contentType = json === undefined ? {} : { 'content-type': `${type ?? format.type}; charset=utf-8` };
  if (isHead) stream?.cancel().catch(() => undefined);
  return new Response(isHead || body === undefined || body === '' ? null : body, {
    status,
    headers: { ...COMMON, ...contentType, ...headers },
  });
}

/** What functions for any framework made. */
export function fromHttpResponse({ status, headers, body: text }: HttpResponse): Answer {
  return { status, headers, text };
}
