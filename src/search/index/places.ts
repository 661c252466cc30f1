import type { Container } from '../../fhir/container.js';
import { INLINE_RESOURCES, isJsonObject, type JsonObject } from '../../fhir/resource.js';

/** Visits the objects in a resource and in all resources inside it, each with the resource that it is in. */
export function walkPlaces(
  resource: JsonObject,
  container: Container,
  visit: (element: JsonObject, container: Container) => void,
): void {
  const open: (readonly [element: JsonObject, container: Container])[] = [[resource, container]];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const [element, place] = next;
    visit(element, place);
    for (const [name, value] of Object.entries(element)) {
      for (const one of Array.isArray(value) ? (value as readonly unknown[]).flat() : [value]) {
        if (!isJsonObject(one)) continue;
        open.push([one, placeOf(name, one, place)]);
      }
    }
  }
}

function placeOf(name: string, one: JsonObject, place: Container): Container {
  if (name === 'contained') return place.withinContained(one);
  return INLINE_RESOURCES.has(name) && typeof one['resourceType'] === 'string' ? place.within(one) : place;
}

/** The place of each Reference in a resource and in all resources inside it. */
export function placesIn(resource: JsonObject, container: Container): ReadonlyMap<object, Container> {
  const places = new Map<object, Container>();
  walkPlaces(resource, container, (element, place) => {
    if (typeof element['reference'] === 'string') places.set(element, place);
  });
  return places;
}
