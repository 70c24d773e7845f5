import type { ErrorObject } from 'ajv'

/** Keywords whose error means that the value was not meant for an alternative of a union. */
const kinds = new Set(['type', 'const', 'enum'])

/**
 * Ajv reports the faults of every alternative of a union, and the union itself. Kept are the faults of the alternatives that have the kind of
 * the value; where none has, the first error of each alternative, which the caller describes together.
 */
export function selectFaults(errors: readonly ErrorObject[]): ErrorObject[][] {
  const unions = errors.filter(({ keyword }) => keyword === 'anyOf')
  const isInside = (error: ErrorObject, union: ErrorObject) =>
    error.schemaPath.startsWith(`${union.schemaPath}/`) && `${error.instancePath}/`.startsWith(`${union.instancePath}/`)
  const plain = errors.filter((error) => !unions.some((union) => error === union || isInside(error, union)))
  return [
    ...plain.map((error) => [error]),
    ...unions.flatMap((union) =>
      ofUnion(
        union,
        errors.filter((error) => isInside(error, union)),
      ),
    ),
  ]
}

function ofUnion(union: ErrorObject, errors: readonly ErrorObject[]): ErrorObject[][] {
  const start = union.schemaPath.length + 1
  const alternatives = [...Map.groupBy(errors, ({ schemaPath }) => schemaPath.slice(start).split('/', 1)[0])].map(([, faults]) => faults)
  const isOther = (faults: readonly ErrorObject[]) =>
    faults.some(({ keyword, instancePath }) => instancePath === union.instancePath && kinds.has(keyword))
  const meant = alternatives.filter((faults) => !isOther(faults))
  return meant.length > 0 ? meant.flat().map((fault) => [fault]) : [alternatives.map(([first]) => first!)]
}
