import type { ValidateFunction } from 'ajv'
import { createAjv } from '../json/schema/ajv.ts'
import { toClosed, type Schema } from './schema-walk.ts'

/** Compiling a schema takes much longer than validating, so compiled schemas are cached. */
const compiled = new Map<string, ValidateFunction>()

/**
 * The function that checks a value by a schema, and fills in the defaults. `name`: a name from `configurationSchemas`. The build
 * replaces the module by compiled functions, because every start would wait 80 ms for Ajv.
 */
export function compileSchema(name: string, schema: Schema): ValidateFunction {
  const known = compiled.get(name)
  if (known) return known
  const validate = createAjv('configuration').compile(toClosed(schema))
  compiled.set(name, validate)
  return validate
}
