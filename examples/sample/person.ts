import type { Address, ContactPoint, HumanName } from 'fhirgraph/types';
import type { Random } from './random.js';
import { FAMILY_NAMES, FEMALE_NAMES, MALE_NAMES, STREETS, TOWNS } from './words.js';

export type Gender = 'female' | 'male';

export function givenName(random: Random, gender: Gender): string {
  return random.pick(gender === 'female' ? FEMALE_NAMES : MALE_NAMES);
}

export function officialName(random: Random, gender: Gender, family = random.pick(FAMILY_NAMES)): HumanName {
  const given = [givenName(random, gender)];
  if (random.chance(0.4)) given.push(givenName(random, gender));
  return { use: 'official', family, given };
}

export function address(random: Random, use: 'home' | 'work' = 'home'): Address {
  const town = random.pick(TOWNS);
  const line = [`${random.int(1, 240)} ${random.pick(STREETS)}`];
  if (random.chance(0.3)) line.push(`Unit ${random.int(1, 40)}`);
  return {
    use,
    line,
    city: town.city,
    state: town.state,
    postalCode: town.postal + random.digits(2),
    country: 'US',
  };
}

/** Numbers of the range that is kept free for fiction. */
export function phone(random: Random, use: 'home' | 'work' | 'mobile'): ContactPoint {
  return { system: 'phone', use, value: `555-01${random.digits(2)}-${random.digits(3)}` };
}

export function email({ family, given }: HumanName, domain: string): ContactPoint {
  const plain = `${given?.[0] ?? ''}.${family ?? ''}`.normalize('NFD').replace(/[^A-Za-z.]/g, '');
  return { system: 'email', use: 'home', value: `${plain.toLowerCase()}@${domain}` };
}

export function fullName({ prefix = [], given = [], family = '' }: HumanName): string {
  return [...prefix, ...given, family].join(' ');
}
