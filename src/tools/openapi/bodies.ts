import type { JsonSchema } from '../../agent/messages.ts'
import { isObject } from '../../json/is-object.ts'
import type { Body, Encoding, Reading } from './api.ts'
import type { Keys } from './keys.ts'
import { shortText, toInputSchema } from './schemas.ts'

export interface FoundBody {
  body: Body
  /** Of the tool's input. */
  properties: (readonly [string, JsonSchema])[]
  required: string[]
}

interface Options extends Reading {
  keys: Keys
}

/** From what says most to what says least; then whatever there is, as text. */
const preferred = [
  /^application\/json\b/,
  /^application\/[\w.+-]*\+json\b/,
  /^application\/x-www-form-urlencoded\b/,
  /^multipart\/form-data\b/,
  /^\*\/\*|^application\/\*/,
  /^text\//,
]

/** Throws where a call could not be made without a body that can't be read. */
export function toBody(given: unknown, options: Options): FoundBody | undefined {
  if (given === undefined) return undefined
  const found = options.references.follow(given)
  if (!isObject(found)) throw new Error(`its body cannot be read: ${options.references.whyNot(given)}`)
  const contents = isObject(found['content']) ? Object.entries(found['content']) : []
  const best = preferred.map((one) => contents.find(([type]) => one.test(type))).find(Boolean) ?? contents[0]
  if (!best) return undefined
  const [type, content] = best
  const mediaType = type.includes('*') ? 'application/json' : type.trim()
  const inner = isObject(content) ? content : {}
  const isData = isForm(mediaType) || isJson(mediaType)
  const whole: JsonSchema = isData ? toInputSchema(inner['schema'], options.references, options.room) : { type: 'string' }
  const schema = isForm(mediaType) ? withoutHeaders(whole, options.ownHeaders) : whole
  const isRequired = found['required'] === true
  const encoding = isForm(mediaType) ? toEncoding(schema, inner['encoding']) : {}
  const own = { mediaType, required: isRequired, encoding }
  if (isFlat(schema, isRequired)) return spread(schema, own, options.keys)
  const key = options.keys.take('body', 'request_body')
  const said = describe(found, schema, mediaType)
  return { body: { ...own, from: { key } }, properties: [[key, said]], required: isRequired ? [key] : [] }
}

/** A field that may be sent as a header too, such as Slack's `token`, is filled by the configuration. */
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
 * Whether the properties of a body can be those of the input: an object with nothing but them. One that may be left out must not have
 * any that may not.
 */
function isFlat(schema: JsonSchema, isRequired: boolean): boolean {
  const { type, properties, required = [] } = schema
  const isObjectSchema = (type === 'object' || type === undefined) && isObject(properties)
  const isMore = ['anyOf', 'allOf', 'not', 'const', 'enum'].some((key) => key in schema) || isOpen(schema['additionalProperties'])
  return isObjectSchema && !isMore && (isRequired || (required as string[]).length === 0)
}

function isOpen(more: unknown): boolean {
  return more === true || isObject(more)
}

function spread(schema: JsonSchema, own: Omit<Body, 'from'>, keys: Keys): FoundBody {
  const properties = Object.entries(schema['properties'] as Record<string, JsonSchema>)
  const required = new Set((schema['required'] ?? []) as string[])
  // One that a parameter is named like would be taken for it: then the body keeps to itself.
  if (properties.some(([name]) => !keys.isFree(name))) {
    const key = keys.take('body', 'request_body')
    return { body: { ...own, from: { key } }, properties: [[key, schema]], required: own.required ? [key] : [] }
  }
  const fields = properties.map(([name]) => ({ key: keys.take(name), name }))
  return {
    body: { ...own, from: { fields } },
    properties: fields.map(({ key }, index) => [key, properties[index]![1]]),
    required: fields.filter(({ name }) => required.has(name)).map(({ key }) => key),
  }
}

function describe(found: Record<string, unknown>, schema: JsonSchema, mediaType: string): JsonSchema {
  const said = typeof found['description'] === 'string' ? shortText(found['description'], 600) : schema['description']
  const type = isJson(mediaType) ? undefined : `As ${mediaType}.`
  const text = [said, type].filter(Boolean).join(' ')
  return text === '' ? schema : { ...schema, description: text }
}

function toEncoding(schema: JsonSchema, given: unknown): Record<string, Encoding> {
  const said = isObject(given) ? given : {}
  const properties = isObject(schema['properties']) ? schema['properties'] : {}
  return Object.fromEntries(
    Object.entries(properties).map(([name, property]) => {
      const one = Object.hasOwn(said, name) && isObject(said[name]) ? said[name] : {}
      const isFile = isObject(property) && property['format'] === 'binary'
      return [
        name,
        {
          ...(typeof one['style'] === 'string' && { style: one['style'] }),
          ...(typeof one['explode'] === 'boolean' && { explode: one['explode'] }),
          ...(typeof one['contentType'] === 'string' && { contentType: one['contentType'] }),
          ...(isFile && { isFile }),
        },
      ]
    }),
  )
}
