import { systemCaller } from 'fhirgraph';
import { ownService } from '../own-definitions.js';
import { fillSample, QUERY } from './query.js';

// Answers and explains one query over a host's own definitions. Run it with `npm run example:own-definitions`, followed by
// `-- FOLDER` for the US Core package that you unpacked there.

const caller = systemCaller('clinic');
const { graphql, store } = await ownService(process.argv[2]);
await fillSample(store, caller);
console.log(JSON.stringify(await graphql.execute(QUERY, { caller }), undefined, 2));
console.log((await graphql.explain(QUERY, { caller })).text);
