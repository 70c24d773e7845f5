import type { AnySchema, ValidateFunction } from 'ajv'
import type { FastifyError, FastifyInstance, FastifySchemaValidationError } from 'fastify'
import { ServiceError, type Fault } from '../../errors.ts'
import { createAjv } from '../../json/schema/ajv.ts'

/** Faults listed in a 422. A longer list helps no reader and costs memory. */
const maxFaults = 20

/** Values in a body that is checked for all of its faults. Each fault costs memory, so a larger body is refused at its first fault. */
const maxValuesForAllFaults = 1000

/** Each schema is compiled once per process, when the first request needs it. */
const textAjv = createAjv('requestTexts')
const firstFaultAjv = createAjv('requestBody')
const allFaultsAjv = createAjv('requestBodyFaults')

/** The faults of a value, or undefined when there is none. */
type Check = (value: unknown) => FastifySchemaValidationError[] | undefined

/** Bodies are validated as they are; query, path and headers are text, and are converted to the types of their schema. */
export function validateWith(app: FastifyInstance): void {
  app.setValidatorCompiler(({ schema, httpPart }) => {
    const check = httpPart === 'body' ? bodyCheck(schema) : textCheck(schema)
    return (value: unknown) => {
      const errors = check(value)
      return errors ? { error: errors } : true
    }
  })
}

function textCheck(schema: AnySchema): Check {
  let validate: ValidateFunction | undefined
  return (value) => {
    validate ??= textAjv.compile(schema)
    return validate(value) ? undefined : (validate.errors as FastifySchemaValidationError[])
  }
}

/** A body is validated up to the first fault; only a small body with a fault is validated again, for all faults. */
export function bodyCheck(schema: AnySchema): Check {
  let findFirst: ValidateFunction | undefined
  return (body) => {
    findFirst ??= firstFaultAjv.compile(schema)
    if (findFirst(body)) return undefined
    const { errors } = findFirst
    if (!isSmall(body)) return errors as FastifySchemaValidationError[]
    const findAll = allFaultsAjv.compile(schema)
    return (findAll(body) ? errors : findAll.errors) as FastifySchemaValidationError[]
  }
}

function isSmall(body: unknown): boolean {
  const pending: unknown[] = [body]
  for (let count = 0; pending.length > 0; count++) {
    const value = pending.pop()
    if (typeof value !== 'object' || value === null) continue
    const inner: unknown[] = Array.isArray(value) ? value : Object.values(value)
    if (count + pending.length + inner.length > maxValuesForAllFaults) return false
    pending.push(...inner)
  }
  return true
}

/** First element of a fault's `loc`, by the `validationContext` of Fastify. */
const parts: Record<string, string> = { body: 'body', querystring: 'query', params: 'path', headers: 'header' }

/** Ajv's errors as one `validation` error with a fault for each. */
export function toFaults(error: Pick<FastifyError, 'validation' | 'validationContext'>): ServiceError {
  const part = parts[error.validationContext ?? 'body'] ?? 'body'
  const faults = withoutNull(error.validation ?? [])
    .slice(0, maxFaults)
    .map((ajvError): Fault => {
      const { keyword, params, instancePath, message } = ajvError
      const path = instancePath.split('/').slice(1).map(toPathSegment)
      const fieldFault = fieldFaultOf(keyword, params)
      const allowed = keyword === 'enum' ? `: ${(params['allowedValues'] as unknown[]).join(', ')}` : ''
      return {
        loc: [part, ...path, ...(fieldFault ? [fieldFault.field] : [])],
        msg: fieldFault?.msg ?? `${message ?? 'is not valid'}${allowed}`,
        type: keyword === 'required' ? 'missing' : keyword,
      }
    })
  const first = faults[0]
  return new ServiceError('validation', first ? `${first.loc.join('.')}: ${first.msg}` : 'The request is not valid.', { faults })
}

/** The fault of a field that Ajv reports at the object around the field. */
function fieldFaultOf(keyword: string, params: Record<string, unknown>): { field: string; msg: string } | undefined {
  if (keyword === 'required') return { field: String(params['missingProperty']), msg: 'is required' }
  if (keyword === 'additionalProperties') return { field: String(params['additionalProperty']), msg: 'is not known' }
  if (keyword !== 'discriminator') return undefined
  return { field: String(params['tag']), msg: params['error'] === 'tag' ? 'must be string' : 'is not known' }
}

/** Drops the errors of the null branch of a nullable field: only the errors of the other branch help the caller. */
function withoutNull(errors: readonly FastifySchemaValidationError[]): readonly FastifySchemaValidationError[] {
  const specific = errors.filter(({ keyword, params }) => keyword !== 'anyOf' && !(keyword === 'type' && params['type'] === 'null'))
  return specific.length > 0 ? specific : errors
}

/** A segment of a JSON pointer (RFC 6901): an index is a number. */
function toPathSegment(text: string): string | number {
  return /^\d+$/.test(text) ? Number(text) : text.replaceAll('~1', '/').replaceAll('~0', '~')
}
