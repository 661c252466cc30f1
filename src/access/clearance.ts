/**
 * What somebody is cleared for: of the labels (`meta.security`) of one system, those with these codes. A resource with
 * another label of that system is not there for it, and neither is one that holds such a resource inside. Labels of other
 * systems do not count.
 *
 * Codes of HL7's Confidentiality (http://terminology.hl7.org/CodeSystem/v3-Confidentiality) clear for lower ones, too:
 * `N` clears for `U`, `L`, `M` and `N`.
 */
export interface Clearance {
  /** The system of the labels: an absolute URI. */
  readonly system: string;
  /** None: no label of the system. */
  readonly codes: readonly string[];
}
