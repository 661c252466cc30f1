import type { Caller, ResourceStore } from 'fhirgraph';
import { createFhirHandler, toNodeListener } from 'fhirgraph/http';
import { createServer, type Server } from 'node:http';

const TASK = '{ id description priority for { resource { ... on Patient { name { family } } } } }';
const CHANGES = `subscription { TaskChanges(status: "requested") { event id resource ${TASK} } }`;
const LIST = `{ TaskList(status: "requested") ${TASK} }`;
const address = (query: string): string => `/fhir/R4/$graphql?${new URLSearchParams({ query })}`;

/** EventSource connects again by itself and goes on after the last event. */
const PAGE = `<!doctype html><meta charset="utf-8"><title>Ward board</title><h1>Requested tasks</h1><ul></ul><script>
const tasks = new Map();
function show() {
  const rows = Array.from(tasks.values(), ({ priority, description, for: patient }) => {
    const row = document.createElement('li');
    row.textContent = [priority, patient?.resource?.name?.[0]?.family, description].filter(Boolean).join(' · ');
    return row;
  });
  document.querySelector('ul').replaceChildren(...rows);
}
const events = new EventSource('${address(CHANGES)}');
// The search comes after the beginning of the subscription, and events are applied to what it finds.
const listed = new Promise((resolve) => events.addEventListener('open', resolve, { once: true }))
  .then(() => fetch('${address(LIST)}')).then((answer) => answer.json())
  .then(({ data }) => { for (const task of data.TaskList) tasks.set(task.id, task); show(); });
events.addEventListener('next', ({ data: text }) => listed.then(() => {
  const { data, errors } = JSON.parse(text);
  if (!data) return errors[0].extensions.code === 'reset' ? location.reload() : events.close();
  const { event, id, resource } = data.TaskChanges;
  if (event === 'leave') tasks.delete(id); else tasks.set(id, resource);
  show();
}));
</script>`;

/** A ward board in a browser. A real service verifies the cookie of each request in `signIn`. */
export function liveBoard(store: ResourceStore, caller: Caller): Server {
  const handler = createFhirHandler({ store, baseUrl: 'http://localhost/fhir/R4', audit: false, signIn: () => caller });
  const listener = toNodeListener(handler);
  return createServer((request, response) => {
    if (request.url !== '/') return listener(request, response);
    response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end(PAGE);
  });
}
