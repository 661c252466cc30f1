import type { ExplainedCall, ExplainedPage, ExplainedPlan, ExplainedRule } from './explained-plan.js';

/**
 * Formats a plan as text, a paragraph per call:
 *
 * ```text
 * 2 calls to the store on 2 levels; cost at least 2, estimated 64
 *
 * 1. PatientList: search Patient
 *    where gender = male
 *    at most 5
 *    by default for Practitioner: the project: everything
 *
 * 2. PatientList.ObservationList: search Observation by subject, once for all parents
 *    …
 * ```
 */
export function planText({ calls, cut, leastCost, estimatedCost }: ExplainedPlan): string {
  const asked = calls.filter((call) => call.asked && call.kind !== 'host');
  const levels = asked.reduce((deepest, { level }) => Math.max(deepest, level), 0);
  const head = `${counted(asked.length, 'call')} to the store on ${counted(levels, 'level')}${cut ? ', and more' : ''}; cost at least ${leastCost}, estimated ${estimatedCost}`;
  return [head, ...calls.map(paragraph)].join('\n\n') + '\n';
}

function paragraph(call: ExplainedCall): string {
  const [first, ...lines] = [`${call.path}: ${headline(call)}`, ...details(call)];
  return [`${call.level}. ${first}`, ...lines.map((line) => `   ${line}`)].join('\n');
}

function headline({ kind, types, id, parameter, host }: ExplainedCall): string {
  const names = types.length === 0 ? 'any type' : types.join(', ');
  switch (kind) {
    case 'read':
      return `read ${names}/${id ?? ''}`;
    case 'search':
      return `search ${names}`;
    case 'reverse':
      return `search ${names} by ${parameter ?? 'reference'}, once for all parents`;
    case 'reference':
      return `read what the references lead to, once for all: ${names}`;
    case 'host':
      return `call the resolver of ${host?.field ?? 'the field'}, once for all parents`;
    case 'canonical':
      return `search ${names} by URL, once for all canonicals`;
    case 'identifier':
      return `search ${names} by identifier, once for all logical references`;
  }
}

function details(call: ExplainedCall): string[] {
  const { sharedWith = [], host } = call;
  if (host !== undefined) {
    const needs = host.needs.length === 0 ? [] : [`needs ${host.needs.join(', ')}`];
    const shared = sharedWith.length === 0 ? [] : [sharedText(call.types, sharedWith)];
    return [...shared, ...needs, `costs ${host.cost} per parent`];
  }
  return [...(sharedWith.length === 0 ? [] : [sharedText(call.types, sharedWith)]), ...outcome(call)];
}

/** Maximum number of fields named for a shared call. */
const MAX_NAMED = 5;

function sharedText(types: readonly string[], fields: NonNullable<ExplainedCall['sharedWith']>): string {
  const names = fields
    .slice(0, MAX_NAMED)
    .map(({ path, id }) => (id === undefined ? path : `${path} (${types[0]}/${id})`));
  const others = fields.length - names.length;
  return `in one call with ${names.join(', ')}${others === 0 ? '' : ` and ${others} more`}`;
}

function outcome(call: ExplainedCall): string[] {
  const { criteria, sort, hiddenSort, page, warnings = [], rules, asked, fault, statements } = call;
  if (fault !== undefined) return [`fails: ${fault}`];
  if (!asked && rules.length === 0) return ['no rule grants it: the store is not asked'];
  if (!asked) return ['nothing can be found: the store is not asked'];
  return [
    ...(criteria === undefined ? [] : [`where ${criteria.text}`]),
    ...(sort === undefined || sort.length === 0 ? [] : [`sorted by ${sort.join(', ')}, then id`]),
    ...(hiddenSort === undefined ? [] : [`not sorted by ${hiddenSort.join(', ')}, which a rule hides`]),
    ...(page === undefined ? [] : [pageText(page)]),
    ...warnings.map((warning) => `broad: ${warning}`),
    ...ruleLines(rules),
    ...(statements?.length === 0 ? ['no statement is sent: nothing that it could find is stored'] : []),
    ...(statements ?? []).flatMap(({ statement, plan }) => [statement, ...plan.map((line) => `  ${line}`)]),
  ];
}

function pageText({ limit, offset, total, cursor }: ExplainedPage): string {
  const size = limit === undefined ? 'all of them' : limit === 0 ? 'none of them' : `at most ${limit}`;
  const start = cursor ? ', from a cursor' : offset === 0 ? '' : `, after the first ${offset}`;
  return `${size}${start}${total ? ', and their number' : ''}`;
}

/** One line per rule, listing all types it applies to. */
function ruleLines(rules: readonly ExplainedRule[]): string[] {
  const types = new Set(rules.map(({ type }) => type)).size;
  return [...Map.groupBy(rules, ruleText)].map(([text, alike]) =>
    alike.length === types ? text : `${alike.map(({ type }) => type).join(', ')} ${text}`,
  );
}

function ruleText({ origin, criteria, hidden, asksStore }: ExplainedRule): string {
  const without = hidden.length === 0 ? '' : `, without ${hidden.join(', ')}`;
  const search = asksStore ? '; one more search decides which' : '';
  return `by ${origin}: ${criteria}${without}${search}`;
}

function counted(count: number, thing: string): string {
  return `${count} ${thing}${count === 1 ? '' : 's'}`;
}
