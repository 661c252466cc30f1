import type { Count, Counters } from './counters.js';

/** The content type of {@link prometheusText}. */
export const PROMETHEUS_CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

/**
 * The current counts in the text format of Prometheus, for the endpoint that it scrapes. Durations are histograms in
 * seconds. See https://prometheus.io/docs/instrumenting/exposition_formats/.
 *
 * @example
 * response.setHeader('content-type', PROMETHEUS_CONTENT_TYPE).end(prometheusText(counters));
 */
export function prometheusText(counters: Counters): string {
  const families = new Map<string, Count[]>();
  for (const count of counters.snapshot()) {
    const name = familyName(count);
    families.set(name, [...(families.get(name) ?? []), count]);
  }
  // The samples of one family must not be separated.
  return [...families].map(([name, counts]) => familyText(name, counts)).join('');
}

function familyText(name: string, counts: readonly Count[]): string {
  const [{ description, buckets }] = counts as readonly [Count, ...Count[]];
  const lines = [`# HELP ${name} ${escape(description, false)}`, `# TYPE ${name} ${buckets ? 'histogram' : 'counter'}`];
  for (const count of counts) lines.push(...samples(name, count));
  return `${lines.join('\n')}\n`;
}

function samples(name: string, { attributes, value, times, buckets }: Count): readonly string[] {
  const labels = Object.entries(attributes).map(([key, text]) => `${plainName(key)}="${escape(String(text), true)}"`);
  if (buckets === undefined) return [`${name}${braced(labels)} ${value}`];
  const ofBucket = (bound: string, count: number): string =>
    `${name}_bucket${braced([...labels, `le="${bound}"`])} ${count}`;
  return [
    ...buckets.map((bucket) => ofBucket(String(bucket.bound), bucket.times)),
    ofBucket('+Inf', times),
    `${name}_sum${braced(labels)} ${value}`,
    `${name}_count${braced(labels)} ${times}`,
  ];
}

function familyName({ name, unit, buckets }: Count): string {
  const base = `${plainName(name)}${unit === 's' ? '_seconds' : ''}`;
  return buckets === undefined ? `${base}_total` : base;
}

function plainName(name: string): string {
  return name.replaceAll(/\W/g, '_');
}

function braced(labels: readonly string[]): string {
  return labels.length === 0 ? '' : `{${labels.join(',')}}`;
}

/** Quotes are escaped in labels, but not in descriptions. */
function escape(text: string, quotes: boolean): string {
  const escaped = text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n');
  return quotes ? escaped.replaceAll('"', '\\"') : escaped;
}
