import { withBase } from 'vitepress';

const pages = new Map();

/** The engine is loaded with the first query that runs. */
export function loadEngine() {
  return import(/* @vite-ignore */ withBase('/engine.js'));
}

/** @returns the data and the queries of a page */
export function loadExamples(page) {
  if (!pages.has(page))
    pages.set(
      page,
      fetch(withBase(`/examples/${page}.json`)).then((response) => response.json()),
    );
  return pages.get(page);
}
