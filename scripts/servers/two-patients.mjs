// A service with two patients, a store that lists its calls, and what a host has beside FHIR: beds.
import { createFhirGraphql, createRepository, MemoryStore, systemCaller } from 'fhirgraph';

/** @returns the service, its caller, the names of the calls that its store got, and the same list emptied */
export async function twoPatients(options = {}) {
  const memory = new MemoryStore();
  const caller = systemCaller('clinic');
  const repository = createRepository({ store: memory, caller });
  for (const id of ['a', 'b']) await repository.update({ resourceType: 'Patient', id, gender: 'female' });
  const calls = [];
  const store = new Proxy(memory, {
    get(target, name) {
      const value = target[name];
      if (typeof value !== 'function') return value;
      return (...inputs) => {
        if (CALLS.has(name)) calls.push(name);
        return value.apply(target, inputs);
      };
    },
  });
  const service = createFhirGraphql({ store, introspection: { types: ['Patient'] }, ...options });
  return { service, caller, takeCalls: () => calls.splice(0) };
}

const CALLS = new Set(['read', 'search', 'searchByReference', 'commit']);

/** A bed per patient, numbered by the letter of the patient's id. */
export const bedOf = (id) => ({ number: id.charCodeAt(0) - 96, patient: { id } });
