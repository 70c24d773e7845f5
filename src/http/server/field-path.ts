import type { Fault } from '../../errors.ts'

/** The path of a field in a body, such as `messages[0].role`. */
export function toParam(path: readonly (string | number)[]): string {
  return path.map((segment, index) => (typeof segment === 'number' ? `[${segment}]` : index === 0 ? segment : `.${segment}`)).join('')
}

/** The position of a field of a body, as errors name it. */
export function labelOf([, ...path]: Fault['loc']): string {
  return toParam(path)
}
