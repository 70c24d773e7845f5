import recorded from './reply-examples.json' with { type: 'json' }
import type { OperationText } from '../schemas/shared.ts'

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
 * Adds descriptions and examples to the OpenAPI document of the routes. The texts are as long as the service's own schemas, and only
 * readers of the document need the texts. The document stays unchanged; the result is a new document. `publicUrl` becomes the second
 * server.
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

**Access key.** \`agent-core serve --init\` writes the first key to \`.agent-core/admin.key\`; \`agent-core keys create\` and \`POST /core/v1/keys\` make more. Send it as \`x-service-access: <key>\`, \`authorization: Bearer <key>\` or \`x-api-key: <key>\`. Each route needs a permission, which the roles of the key grant: 403 names the one that is missing.

**Ids.** Each reply has a \`request-id\`; replies that belong to a session have a \`session-id\`. Send ids of your own, or let the service make them.

**Errors** have one shape: \`body\` is a sentence for people, \`status_code\` the HTTP status, \`details.error_type\` a name for programs. Faults of a request (422) are listed with their location, in most routes as \`{detail: [{loc, msg, type}]}\`. 429 and 503 have a \`retry-after\`.

**Lists** are pages: send the \`offset\` of a page as \`before\` to get the next one, while \`has_more\` is true. For sessions and memories, \`before\` is the id of the last element.

**Examples** work as they stand on the sample agent. Examples of replies were recorded from it; lists in them are cut after two elements, long texts after 1,000 characters.`

/** Tags in the order of the page, with a line about each. */
export const tags: readonly { name: string; description: string }[] = [
  { name: 'Chat', description: 'Ask the agent: with a JSON answer, as a stream, or in the background with a callback.' },
  { name: 'Sessions', description: 'Conversations with their messages: list, search, read, fork, delete.' },
  { name: 'Runs', description: 'What became of each chat: state, stream, trace, approvals, callbacks, feedback.' },
  { name: 'Schedules', description: 'Chats that begin at their times: again and again, or once.' },
  { name: 'Tools', description: 'The tools of the agent: list, execute without a model, accept changed definitions.' },
  { name: 'Sub-agents', description: 'Specialised agents of a caller, to which the agent delegates tasks.' },
  { name: 'Knowledge', description: 'Documents of the tenant, which `knowledge_search` finds.' },
  { name: 'Memories', description: 'What the agent has retained about the caller.' },
  { name: 'Artifacts', description: 'Files that tools created: list, link, download, share.' },
  { name: 'Agent', description: 'What the agent is called, and what it can do.' },
  { name: 'Agent configuration', description: 'agent.yaml over HTTP: read, check, change, restore.' },
  { name: 'Access', description: 'The caller, roles and access keys.' },
  { name: 'Audit', description: 'Who did what: list, export, signed heads.' },
  { name: 'Observability', description: 'Metrics, logs and the health of the installation.' },
  { name: 'Budgets', description: 'What model calls may cost: limits, what is spent, overrides.' },
  { name: 'Datasets', description: 'Examples of what the agent is asked, from runs or written by hand.' },
  { name: 'Experiments', description: 'Replays of datasets with variants of the agent, in which nothing is written.' },
  { name: 'OpenAI', description: 'The agent for OpenAI clients, at the base URL `<address>/v1`.' },
  { name: 'Anthropic', description: 'The agent for clients of Anthropic’s Messages API, at the address of the service.' },
  { name: 'LangGraph', description: 'The agent for clients of LangGraph’s Agent Server, at the base URL `<address>/langgraph`.' },
  { name: 'Protocols', description: 'The agent for MCP clients and for other agents (A2A).' },
  { name: 'Console', description: 'Sign-in of the web console.' },
  { name: 'Health', description: 'Probes for load balancers and orchestrators.' },
  { name: 'Documentation', description: 'This document.' },
]

/** Values by operation id, then by status and media type (`200 application/json`), then by the name of the example. */
type ReplyExamples = Record<string, Record<string, Record<string, unknown>>>

/** Replies of the sample agent, written by `RECORD=1 node --test test/contract/openapi-examples.test.ts`. */
const replyExamples: ReplyExamples = recorded

/** What a parameter is called in a document: a description for routes that state none, and an example. */
interface ParameterText {
  description: string
  example: unknown
}

const uuid = '0199f3c2-7c1e-7d51-b0ab-3f6f1d0c8a11'

/** Texts of parameters by name. A description of the route wins over these. */
const parameterTexts: Record<string, ParameterText> = {
  'session-id': {
    description:
      'The session: 1 to 128 letters, digits and `._:-`, a letter or digit first. Generated when absent; the reply always names it. Send it again to go on with the conversation.',
    example: 'my-first-chat',
  },
  'request-id': {
    description:
      'The id of the request, in the form of a session id. Generated when absent, always echoed. For a chat it names the run: the same request with the same id runs once.',
    example: 'my-first-request',
  },
  'last-event-id': {
    description: 'The `id` of the last event that arrived, `<request id>:<number>`. Without it, the stream begins at the first event.',
    example: `${uuid}:4`,
  },
  'if-match': { description: 'The `etag` that the change is based on.', example: '"019ab3c4-5d6e-7f80-9a1b-2c3d4e5f6071"' },
  'a2a-version': { description: 'The version of the protocol.', example: '1.0' },
  'ce-specversion': { description: 'The version of CloudEvents.', example: '1.0' },
  'ce-type': { description: 'The type of the event.', example: 'ai.service.agent.chain' },
  'ce-source': { description: 'The sender of the event.', example: 'urn:example:docs' },
  'ce-id': { description: 'The id of the event.', example: 'example-4' },
  'ce-time': { description: 'The time of the event.', example: '2026-11-22T08:00:00Z' },
  session_id: { description: 'The id of a session.', example: 'my-first-chat' },
  request_id: { description: 'The id of a run: the `request-id` of its chat.', example: uuid },
  sub_agent_id: { description: 'The id of a sub-agent.', example: uuid },
  artifact_id: { description: 'The id of a file.', example: uuid },
  document_id: { description: 'The id of a document of the tenant.', example: uuid },
  message_index: { description: 'The place of a message in its session, from 0.', example: 1 },
  artifact_index: { description: 'The place of a file in its message, from 0.', example: 0 },
  folder: { description: 'The folder of the file, as the link has it.', example: uuid },
  id: { description: 'The id of the resource.', example: uuid },
  example_id: { description: 'The id of an example of the dataset.', example: uuid },
  repetition: { description: 'The number of the replay of the example.', example: 1 },
  outcome: { description: 'Only results with this outcome.', example: 'passed' },
  revision: { description: 'The dataset as it was at this revision.', example: 1 },
  jti: { description: 'The id of a key.', example: '01a1fd5d-67f6-7502-b401-06e47c62549c' },
  override: { description: 'Why the change is made all the same.', example: 'Rolls a broken version back' },
  name: { description: 'The name of a tool.', example: 'weather__forecast' },
  version: { description: 'A version of the configuration.', example: '019ab3c4-5d6e-7f80-9a1b-2c3d4e5f6071' },
  limit: { description: 'The largest number of elements in the reply.', example: 10 },
  before: { description: 'The `offset` of the page before: this page begins after that page.', example: uuid },
  offset: { description: 'The number of entries to skip.', example: 0 },
  status: { description: 'Only those with this state.', example: 'success' },
  operation: { description: 'Only runs of this route.', example: 'chain' },
  run_id: { description: 'Only the run with this request id.', example: uuid },
  issuer: { description: 'The issuer of a caller.', example: 'agent-core' },
  thread_id: { description: 'The id of a thread: of its session.', example: uuid },
  checkpoint_id: { description: 'A checkpoint of the history of a thread.', example: '0' },
  stream_mode: { description: 'What the stream has.', example: 'values' },
  action: { description: 'What becomes of the run.', example: 'interrupt' },
  configId: { description: 'The id of a push notification config.', example: 'example' },
  contextId: { description: 'The id of a context, which is a session.', example: 'my-first-chat' },
  historyLength: { description: 'The largest number of messages.', example: '1' },
  pageSize: { description: 'The largest number of elements in the reply.', example: '10' },
  pageToken: { description: 'The `nextPageToken` of the page before.', example: 'WzE3OTU0MjA4MDAwMDAsImV4YW1wbGUiXQ' },
  statusTimestampAfter: { description: 'A time.', example: '2026-11-22T08:00:00Z' },
  includeArtifacts: { description: 'Whether the reply has artifacts.', example: 'true' },
  sub: { description: 'The `sub` of a caller.', example: 'admin' },
}
