/**
 * Whether a cut of the text before this index parts the two units of a character beyond the basic plane.
 *
 * See https://unicode.org/glossary/#high_surrogate_code_unit.
 */
export function cutsCharacter(text: string, index: number): boolean {
  return (text.charCodeAt(index - 1) & 0xfc00) === 0xd800;
}
