import { MemoryStore } from 'fhirgraph';
import { tellStory } from './clinic/story.js';

// A clinic from an empty store: projects, invitations, policies, members. Run it with `npm run example:clinic`.

const store = new MemoryStore();
try {
  await tellStory(store, (line) => console.log(line));
} finally {
  await store.close();
}
