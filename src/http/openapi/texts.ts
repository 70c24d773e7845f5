import { parameterTexts } from './parameters.ts'
import recorded from './reply-examples.json' with { type: 'json' }
import type { OperationText } from '../schemas/route.ts'

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
  const text = readDetails?.()
  if (text?.text === undefined) return operation
  const examples = replyExamples[operation.operationId!] ?? {}
  return {
    ...operation,
    description: [operation.description, text.text].filter((part) => part !== undefined).join('\n\n'),
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

function addRequestExamples(body: { content: Record<string, Fields> }, { examples, requests }: OperationText): typeof body {
  const examplesOf = (type: string) => (requests ? requests[type] : examples)
  return {
    ...body,
    content: mapFields(body.content, (media, type) => ({ ...media, ...(examplesOf(type) && { examples: examplesOf(type) }) })),
  }
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

/** The opening text of the document, in Markdown. */
export const introduction = `One configured AI agent behind HTTP: chats, sessions, runs, tools and files.

**Access key.** \`agent-core serve --init\` writes the first key to \`.agent-core/admin.key\`; \`agent-core keys create\` and \`POST /core/v1/keys\` make more. Send it as \`x-service-access: <key>\` or \`authorization: Bearer <key>\`. Each route needs a permission, which the roles of the key grant: 403 names the one that is missing.

**Ids.** Each reply has a \`request-id\`; replies that belong to a session have a \`session-id\`. Send ids of your own, or let the service make them.

**Errors** have one shape: \`body\` is a sentence for people, \`status_code\` the HTTP status, \`details.error_type\` a name for programs. Faults of a request (422) are listed with their location, in most routes as \`{detail: [{loc, msg, type}]}\`. 429 and 503 have a \`retry-after\`.

**Lists** are pages: send the \`offset\` of a page as \`before\` to get the next one, while \`has_more\` is true. For sessions and memories, \`before\` is the id of the last element.

**Examples** work as they stand on the sample agent. Examples of replies were recorded from it; lists in them are cut after two elements, long texts after 1,000 characters.`

/** Tags in the order of the page, with a line about each. */
export const tags: readonly { name: string; description: string }[] = [
  { name: 'Chat', description: 'Ask the agent: with a JSON answer, as a stream, or in the background with a callback.' },
  { name: 'Sessions', description: 'Conversations with their messages: list, search, read, fork, delete.' },
  { name: 'Runs', description: 'What became of each chat: state, stream, trace, approvals, callbacks, feedback.' },
  { name: 'Tools', description: 'The tools of the agent: list, execute without a model, accept changed definitions.' },
  { name: 'Sub-agents', description: 'Specialised agents of a caller, to which the agent delegates tasks.' },
  { name: 'Knowledge', description: 'Documents of the tenant, which `knowledge_search` finds.' },
  { name: 'Memories', description: 'What the agent has retained about the caller.' },
  { name: 'Artifacts', description: 'Files that tools created: list, link, download, share.' },
  { name: 'Agent', description: 'What the agent is called, and what it can do.' },
  { name: 'Agent configuration', description: 'agent.yaml over HTTP: read, check, change, restore.' },
  { name: 'Access', description: 'The caller, roles and access keys.' },
  { name: 'Observability', description: 'Metrics, logs and the health of the installation.' },
  { name: 'OpenAI', description: 'The agent for OpenAI clients, at the base URL `<address>/v1`.' },
  { name: 'Protocols', description: 'The agent for MCP clients and for other agents (A2A).' },
  { name: 'Console', description: 'Sign-in of the web console.' },
  { name: 'Health', description: 'Probes for load balancers and orchestrators.' },
  { name: 'Documentation', description: 'This document.' },
]

/** Values by operation id, then by status and media type (`200 application/json`), then by the name of the example. */
export type ReplyExamples = Record<string, Record<string, Record<string, unknown>>>

/** Replies of the sample agent, written by `RECORD=1 node --test test/contract/openapi-examples.test.ts`. */
export const replyExamples: ReplyExamples = recorded
