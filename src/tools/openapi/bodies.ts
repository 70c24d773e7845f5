import type { JsonSchema } from '../../agent/messages.ts'
import { isObject, fieldsOf } from '../../json/shape.ts'
import type { Body, Encoding, OperationOptions } from './api.ts'
import type { Keys } from './parameters.ts'
import { shortText, toInputSchema } from './schemas.ts'

export interface ConvertedBody {
  body: Body
  /** Properties of the tool input. */
  properties: (readonly [string, JsonSchema])[]
  required: string[]
}

interface BodyOptions extends OperationOptions {
  keys: Keys
}

/** Media types by preference, the most expressive first; any other type is sent as text. */
const preferredTypes = [
  /^application\/json\b/,
  /^application\/[\w.+-]*\+json\b/,
  /^application\/x-www-form-urlencoded\b/,
  /^multipart\/form-data\b/,
  /^\*\/\*|^application\/\*/,
  /^text\//,
]

/** Converts a request body. Throws when the body cannot be read, because a call without the body could be wrong. */
export function toBody(requestBody: unknown, options: BodyOptions): ConvertedBody | undefined {
  if (requestBody === undefined) return undefined
  const bodyObject = options.references.follow(requestBody)
  if (!isObject(bodyObject)) throw new Error(`its body cannot be read: ${options.references.explainFailure(requestBody)}`)
  const contents = isObject(bodyObject['content']) ? Object.entries(bodyObject['content']) : []
  const best = preferredTypes.map((pattern) => contents.find(([type]) => pattern.test(type))).find(Boolean) ?? contents[0]
  if (!best) return undefined
  const [type, content] = best
  const mediaType = type.includes('*') ? 'application/json' : type.trim()
  const mediaTypeObject = fieldsOf(content)
  const isData = isForm(mediaType) || isJson(mediaType)
  const fullSchema: JsonSchema = isData
    ? toInputSchema(mediaTypeObject['schema'], options.references, options.maxSchemaCharacters)
    : { type: 'string' }
  const schema = isForm(mediaType) ? withoutHeaders(fullSchema, options.ownHeaders) : fullSchema
  const isRequired = bodyObject['required'] === true
  const encoding = isForm(mediaType) ? toEncoding(schema, mediaTypeObject['encoding']) : {}
  const traits = { mediaType, required: isRequired, encoding }
  if (isFlat(schema, isRequired)) return spread(schema, traits, options.keys)
  const key = options.keys.take('body', 'request_body')
  const described = describe(bodyObject, schema, mediaType)
  return { body: { ...traits, source: { key } }, properties: [[key, described]], required: isRequired ? [key] : [] }
}

/** Removes form fields that the configuration sends as headers, such as Slack's `token`. */
function withoutHeaders(schema: JsonSchema, ownHeaders: ReadonlySet<string>): JsonSchema {
  const properties = isObject(schema['properties']) ? Object.entries(schema['properties']) : []
  const rest = properties.filter(([name]) => !ownHeaders.has(name.toLowerCase()))
  if (rest.length === properties.length) return schema
  const required = ((schema['required'] ?? []) as string[]).filter((name) => !ownHeaders.has(name.toLowerCase()))
  return { ...schema, properties: Object.fromEntries(rest), required }
}

export function isJson(mediaType: string): boolean {
  return /^application\/([\w.+-]*\+)?json\b/i.test(mediaType)
}

export function isForm(mediaType: string): boolean {
  return /^(application\/x-www-form-urlencoded|multipart\/form-data)\b/i.test(mediaType)
}

/**
 * True when the body properties can be properties of the input: an object schema with no other keywords. An optional body must not have
 * required properties.
 */
function isFlat(schema: JsonSchema, isRequired: boolean): boolean {
  const { type, properties, required = [] } = schema
  const isObjectSchema = (type === 'object' || type === undefined) && isObject(properties)
  const hasMoreKeywords = ['anyOf', 'allOf', 'not', 'const', 'enum'].some((key) => key in schema) || isOpen(schema['additionalProperties'])
  return isObjectSchema && !hasMoreKeywords && (isRequired || (required as string[]).length === 0)
}

function isOpen(additionalProperties: unknown): boolean {
  return additionalProperties === true || isObject(additionalProperties)
}

function spread(schema: JsonSchema, traits: Omit<Body, 'source'>, keys: Keys): ConvertedBody {
  const properties = Object.entries(schema['properties'] as Record<string, JsonSchema>)
  const required = new Set((schema['required'] ?? []) as string[])
  // A field with the name of a parameter would be mistaken for the parameter: then the body stays a single property.
  if (properties.some(([name]) => !keys.isFree(name))) {
    const key = keys.take('body', 'request_body')
    return { body: { ...traits, source: { key } }, properties: [[key, schema]], required: traits.required ? [key] : [] }
  }
  const fields = properties.map(([name]) => ({ key: keys.take(name), name }))
  return {
    body: { ...traits, source: { fields } },
    properties: fields.map(({ key }, index) => [key, properties[index]![1]]),
    required: fields.filter(({ name }) => required.has(name)).map(({ key }) => key),
  }
}

function describe(bodyObject: Record<string, unknown>, schema: JsonSchema, mediaType: string): JsonSchema {
  const bodyText = typeof bodyObject['description'] === 'string' ? shortText(bodyObject['description'], 600) : schema['description']
  const type = isJson(mediaType) ? undefined : `As ${mediaType}.`
  const text = [bodyText, type].filter(Boolean).join(' ')
  return text === '' ? schema : { ...schema, description: text }
}

function toEncoding(schema: JsonSchema, encodings: unknown): Record<string, Encoding> {
  const encodingByName = fieldsOf(encodings)
  const properties = fieldsOf(schema['properties'])
  return Object.fromEntries(
    Object.entries(properties).map(([name, property]) => {
      const encoding = fieldsOf(Object.hasOwn(encodingByName, name) ? encodingByName[name] : undefined)
      const isFile = isObject(property) && property['format'] === 'binary'
      return [
        name,
        {
          ...(typeof encoding['style'] === 'string' && { style: encoding['style'] }),
          ...(typeof encoding['explode'] === 'boolean' && { explode: encoding['explode'] }),
          ...(typeof encoding['contentType'] === 'string' && { contentType: encoding['contentType'] }),
          ...(isFile && { isFile }),
        },
      ]
    }),
  )
}
