import { stringifyInTurns, stringifyResultInTurns } from '../../fhir/json/stringify-in-turns.js';
import type { HttpResponse } from '../http-types.js';
import type { Answer } from '../exchange/answer.js';
import type { WireAnswer } from '../exchange/wire-answer.js';
import type { Format } from './negotiate.js';

/** Headers of every response: caches must not keep answers, and browsers must not guess another type. */
const COMMON = {
  'cache-control': 'no-store',
  vary: 'accept, authorization, prefer',
  'x-content-type-options': 'nosniff',
} as const;

export async function toWireAnswer(answer: Answer, format: Format, isHead: boolean): Promise<WireAnswer> {
  const { status, headers, json, type, stream } = answer;
  const body = await bodyOf(answer, format);
  const contentType = json === undefined ? {} : { 'content-type': `${type ?? format.type}; charset=utf-8` };
  if (isHead) stream?.cancel().catch(() => undefined);
  return {
    status,
    headers: { ...COMMON, ...contentType, ...headers },
    body: isHead || body === '' ? undefined : body,
  };
}

async function bodyOf({ json, result, text, bytes, stream }: Answer, { pretty }: Format): Promise<WireAnswer['body']> {
  if (result !== undefined) return stringifyResultInTurns(result);
  return json === undefined ? (bytes ?? stream ?? text) : stringifyInTurns(json, pretty ? 2 : 0);
}

/** Converts the answer of a framework-independent function. */
export function fromHttpResponse({ status, headers, body: text }: HttpResponse): Answer {
  return { status, headers, text };
}
