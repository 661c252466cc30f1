// Made-up people and places: common names in several scripts of Latin, with accents, hyphens and apostrophes.

export const FEMALE_NAMES = list(`
  Ada, Aisha, Amélie, Beatriz, Chiara, Dorothy, Elif, Freya, Grace, Hana, Ingrid, Joana, Karin, Leïla,
  Maren, Noor, Olga, Priya, Rosa, Siobhán, Thandi, Ursula, Vera, Yuki, Zoë
`);

export const MALE_NAMES = list(`
  Adam, Ahmed, Björn, Carlos, Dmitri, Emil, François, George, Hugo, Ivan, José, Kofi, Liam, Mateo, Nils,
  Oscar, Pavel, Quentin, Ravi, Seán, Tomás, Umar, Viktor, Wei, Yusuf
`);

export const FAMILY_NAMES = list(`
  Adeyemi, Andersson, Baker, Castillo, Chen, D'Angelo, Fischer, Garcia, García, Haddad, Ivanova, Jensen,
  Kaya, Kowalski, Lefèvre, MacLeod, Müller, Nakamura, Nguyen, O'Brien, Okafor, Patel, Quinn, Rossi, Sato,
  Smith, Smith-Jones, Torres, van den Berg, Weaver, Yılmaz
`);

export const STREETS = list(`
  Alder Street, Bridge Road, Canal Walk, Dock Lane, Elm Avenue, Foundry Street, Garden Terrace,
  Harbor View, Juniper Court, Kiln Hill, Lantern Way, Mill Road, Orchard Drive, Quarry Close
`);

export interface Town {
  readonly city: string;
  readonly state: string;
  /** First digits of its postal codes. */
  readonly postal: string;
  readonly latitude: number;
  readonly longitude: number;
}

export const TOWNS: readonly Town[] = [
  { city: 'Ashford Falls', state: 'MA', postal: '017', latitude: 42.31, longitude: -71.65 },
  { city: 'Brightwater', state: 'MA', postal: '019', latitude: 42.52, longitude: -70.89 },
  { city: 'Cedar Point', state: 'NH', postal: '038', latitude: 43.07, longitude: -70.76 },
  { city: 'Dunmore', state: 'RI', postal: '028', latitude: 41.58, longitude: -71.45 },
  { city: 'East Larkin', state: 'CT', postal: '062', latitude: 41.81, longitude: -72.25 },
  { city: 'Saint-Émile', state: 'ME', postal: '041', latitude: 43.66, longitude: -70.26 },
];

/** Names between commas, over any number of lines. */
function list(text: string): readonly string[] {
  return text.split(',').map((name) => name.trim());
}
