/** Form of session ids and request ids that callers choose. */
export const idPattern = '^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$'

const pattern = new RegExp(idPattern)

export function isId(id: unknown): id is string {
  return typeof id === 'string' && pattern.test(id)
}
