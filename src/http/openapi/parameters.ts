/** What a parameter is called in a document: a description for routes that state none, and an example. */
interface ParameterText {
  description: string
  example: unknown
}

const uuid = '0199f3c2-7c1e-7d51-b0ab-3f6f1d0c8a11'

/** Texts of parameters by name. A description of the route wins over these. */
export const parameterTexts: Record<string, ParameterText> = {
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
  jti: { description: 'The id of a key.', example: '01a1fd5d-67f6-7502-b401-06e47c62549c' },
  name: { description: 'The name of a tool.', example: 'weather__forecast' },
  version: { description: 'A version of the configuration.', example: '019ab3c4-5d6e-7f80-9a1b-2c3d4e5f6071' },
  limit: { description: 'The largest number of elements in the reply.', example: 10 },
  before: { description: 'The `offset` of the page before: this page begins after that page.', example: uuid },
  offset: { description: 'The number of entries to skip.', example: 0 },
  status: { description: 'Only those with this state.', example: 'success' },
  operation: { description: 'Only runs of this route.', example: 'chain' },
  run_id: { description: 'Only the run with this request id.', example: uuid },
  issuer: { description: 'The issuer of a caller.', example: 'agent-core' },
  configId: { description: 'The id of a push notification config.', example: 'example' },
  contextId: { description: 'The id of a context, which is a session.', example: 'my-first-chat' },
  historyLength: { description: 'The largest number of messages.', example: '1' },
  pageSize: { description: 'The largest number of elements in the reply.', example: '10' },
  pageToken: { description: 'The `nextPageToken` of the page before.', example: 'WzE3OTU0MjA4MDAwMDAsImV4YW1wbGUiXQ' },
  statusTimestampAfter: { description: 'A time.', example: '2026-11-22T08:00:00Z' },
  includeArtifacts: { description: 'Whether the reply has artifacts.', example: 'true' },
  sub: { description: 'The `sub` of a caller.', example: 'admin' },
}
