import { loadFhirPath } from '../../src/fhirpath/library.js';
import { expect, test } from 'vitest';
import { rootElements } from '../../src/access/policy/write-constraint.js';

await loadFhirPath();

const RESOURCES = new Set(['before', 'after']);

test.each<[expression: string, names: readonly string[]]>([
  ['%before.status.exists().not()', ['status']],
  ["status = 'x' and %`after`.name.where(use = 'y').exists()", ['name', 'status']],
  ['(%after).active | Patient.name', ['Patient', 'active']],
  ['%after.name[0].family', ['name']],
  ['%after.`gender`.exists()', ['gender']],
  ['iif(%before.active, %after.gender.exists(), true)', ['active', 'gender']],
  ['%other.status.exists()', []],
  ["defineVariable('before').select(%before.anything)", []],
  ["name.where(family = 'x').given", ['name']],
])('the first-level elements of %s', (expression, names) => {
  expect([...rootElements(expression, RESOURCES)].sort()).toEqual(names);
});
