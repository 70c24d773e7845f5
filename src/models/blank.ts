const visible = /\S/

/** True for a text of white space only. Providers refuse such a text in a message, and nobody can read such an answer. */
export function isBlank(text: string): boolean {
  return !visible.test(text)
}
