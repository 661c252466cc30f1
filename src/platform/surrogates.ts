/** Whether cutting the string before this index would split a surrogate pair. */
export function cutsCharacter(text: string, index: number): boolean {
  return isSurrogate(text, index - 1, 0xd800) && isSurrogate(text, index, 0xdc00);
}

/** @param first the first unit of its kind, see https://unicode.org/glossary/#surrogate_code_point */
function isSurrogate(text: string, index: number, first: number): boolean {
  return (text.charCodeAt(index) & 0xfc00) === first;
}
