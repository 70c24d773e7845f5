import { introduction, tags } from './introduction.ts'
import type { OperationText } from './operation-text.ts'
import { operationTexts } from './operations.ts'
import { parameterTexts } from './parameters.ts'
import { replyExamples, type ReplyExamples } from './reply-examples.ts'

type Fields = Record<string, unknown>

interface Parameter extends Fields {
  name: string
  in: string
  description?: string
  required?: boolean
  schema?: Fields
}

interface Operation extends Fields {
  operationId?: string
  description?: string
  parameters?: Parameter[]
  requestBody?: { content: Record<string, Fields> }
  responses: Record<string, Fields & { content?: Record<string, Fields> }>
  'x-details'?: () => OperationText
}

interface Document extends Fields {
  info: Fields
  paths: Record<string, Record<string, Operation>>
}

/**
 * Adds descriptions and examples to the OpenAPI document of the routes: they are as long as the service's own schemas, and only readers of the
 * document need them. The document stays as it is; the result is a new one. `publicUrl` becomes its second server.
 */
export function addTexts(plain: object, publicUrl?: string): object {
  const document = plain as Document
  return {
    ...document,
    info: { ...document.info, description: introduction },
    // Relative to the address of the document, so that it holds under every host name and prefix.
    servers: [
      { url: '.', description: 'This service' },
      ...(publicUrl === undefined ? [] : [{ url: publicUrl, description: 'Its public address' }]),
    ],
    tags,
    paths: mapFields(document.paths, (operations) => mapFields(operations, addOperationTexts)),
  }
}

function addOperationTexts({ 'x-details': readDetails, ...operation }: Operation): Operation {
  const text = readDetails?.() ?? operationTexts[operation.operationId ?? '']
  if (!text) return operation
  const examples = replyExamples[operation.operationId!] ?? {}
  return {
    ...operation,
    description: [operation.description, text.description].filter((part) => part !== undefined).join('\n\n'),
    ...(operation.parameters && { parameters: operation.parameters.map((parameter) => addParameterTexts(parameter, text)) }),
    ...(operation.requestBody && { requestBody: addRequestExamples(operation.requestBody, text) }),
    responses: addReplyExamples(operation.responses, examples),
  }
}

/** An `example` of the parameter is filled in by "Try it out", one of its schema is only shown. */
function addParameterTexts(parameter: Parameter, { parameters = {}, prefilled = [] }: OperationText): Parameter {
  const { name, required, schema } = parameter
  const text = parameterTexts[name]
  const example = parameters[name] ?? text?.example
  const isFilledIn = required === true || prefilled.includes(name)
  return {
    ...parameter,
    description: parameter.description ?? text?.description,
    ...(isFilledIn ? { example } : { schema: { ...schema, examples: [example] } }),
  }
}

function addRequestExamples(body: { content: Record<string, Fields> }, { requests = {} }: OperationText): typeof body {
  return { ...body, content: mapFields(body.content, (media, type) => ({ ...media, ...(requests[type] && { examples: requests[type] }) })) }
}

function addReplyExamples(responses: Operation['responses'], examples: ReplyExamples[string]): Operation['responses'] {
  return mapFields(responses, (response, status) => ({
    ...response,
    ...(response.content && {
      content: mapFields(response.content, (media, type) => {
        const recorded = examples[`${status} ${type}`]
        return recorded ? { ...media, examples: mapFields(recorded, (value) => ({ value })) } : media
      }),
    }),
  }))
}

function mapFields<V, R>(fields: Record<string, V>, toValue: (value: V, name: string) => R): Record<string, R> {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, toValue(value, name)]))
}
