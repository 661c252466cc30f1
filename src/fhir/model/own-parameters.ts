import { OWN_EXTENSIONS } from '../own-extensions.js';
import type { SearchParameterDefinition } from './definition-types.js';

/**
 * Search parameters that R4 and Medplum do not define and this library needs.
 *
 * R4 has none for Binary, so searches could not find the Binaries of an owner. See
 * https://hl7.org/fhir/R4/binary.html#security-context. Nor could they find the Binary with the code of a Bot, or the
 * members whose invitation or access has ended.
 */
export const OWN_PARAMETERS: { readonly [resourceType: string]: readonly SearchParameterDefinition[] } = {
  Binary: [
    {
      code: 'security-context',
      type: 'reference',
      expression: 'Binary.securityContext',
      path: [['securityContext']],
      short: 'The resource whose access rights hold for the content',
    },
    {
      code: 'has-security-context',
      type: 'token',
      expression: 'Binary.securityContext.exists()',
      short: 'Whether a security context is given, one that leads nowhere included',
    },
  ],
  ProjectMembership: [
    {
      code: 'invitation-expires',
      type: 'date',
      expression: `ProjectMembership.extension.where(url = '${OWN_EXTENSIONS.invitationExpires}').value`,
      short: 'Until when the open invitation can be accepted',
    },
    {
      code: 'access-expires',
      type: 'date',
      expression: `ProjectMembership.extension.where(url = '${OWN_EXTENSIONS.accessExpires}').value`,
      short: 'When the access of the member ends',
    },
  ],
  Bot: [
    {
      code: 'code-binary',
      type: 'reference',
      expression: 'Bot.sourceCode.url | Bot.executableCode.url',
      targets: ['Binary'],
      short: 'A Binary that holds code of the Bot',
    },
  ],
};
