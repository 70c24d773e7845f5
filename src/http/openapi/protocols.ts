import type { OperationTexts } from './named.ts'

const question = 'What were the total sales by region?'

export const protocolTexts: OperationTexts = {
  postMcp: {
    description: `Streamable HTTP of the Model Context Protocol, without sessions of the transport: revisions 2024-11-05 to 2025-11-25, and 2026-07-28. Clients see:

- the tool \`ask\` (\`{message, session_id?}\`), which asks the agent, also as a task;
- with the permission \`tools.execute\`, the agent's own tools;
- the conversation starters as prompts;
- with the permission \`artifacts.read\`, own files as resources.

Use an MCP client with the address \`<address>/mcp\` and the key as a bearer token; the example shows one message. With an identity provider, a client without a token finds the provider from \`www-authenticate\`.

A request is answered as JSON, or as server-sent events while it takes time; a notification is 202. 400: the message is not valid. 406: \`accept\` must name \`application/json\` and \`text/event-stream\`. A JSON-RPC error has the status 200.`,
    requests: {
      'application/json': {
        list: { summary: 'List the tools', value: { jsonrpc: '2.0', id: 1, method: 'tools/list' } },
        ask: {
          summary: 'Ask the agent',
          value: { jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name: 'ask', arguments: { message: question } } },
        },
      },
    },
  },
  getWellKnownAgentCardJson: {
    description:
      'What other agents read first: name, skills, addresses of the two A2A bindings and how to authenticate. It needs no key and may be cached for a minute; `if-none-match` with the `etag` is answered with 304.',
  },
  postA2a: {
    description: `JSON-RPC of the Agent2Agent protocol 1.0: \`SendMessage\`, \`SendStreamingMessage\`, \`GetTask\`, \`ListTasks\`, \`CancelTask\`, \`SubscribeToTask\`, \`GetExtendedAgentCard\`, and \`Create\`, \`Get\`, \`List\` and \`DeleteTaskPushNotificationConfig\`. The routes under \`/a2a/v1\` are the same operations with HTTP and JSON. A task is a run, a context a session. The header is \`a2a-version: 1.0\`; without it, requests are of version 0.3, with methods such as \`message/send\`. Errors of the protocol have the status 200 and an \`error\`.`,
    parameters: { 'a2a-version': '1.0' },
    prefilled: ['a2a-version'],
    requests: {
      'application/json': {
        message: {
          summary: 'A question',
          value: {
            jsonrpc: '2.0',
            id: 1,
            method: 'SendMessage',
            params: { message: { messageId: 'example-1', role: 'ROLE_USER', parts: [{ text: question }] } },
          },
        },
      },
    },
  },
  postAgUi: {
    description: `AG-UI 1.0, for clients such as \`HttpAgent\` of \`@ag-ui/client\`. \`threadId\` is the session and \`runId\` the request id. The answer is a stream of events from \`RUN_STARTED\` to \`RUN_FINISHED\` or \`RUN_ERROR\`; refusals for the key, the shape of the request, limits and load are HTTP errors.

**Approvals.** A run whose tool calls wait ends with \`outcome.type: "interrupt"\`. The next request of the thread answers all of them in \`resume\`, with the payload \`{approved, editedArgs?, reason?}\`, and its stream is the rest of the run.

**Tools of the page.** A run that calls one of \`tools\` ends with \`outcome.pendingToolCallIds\`. The next request of the thread has the results as messages of role \`tool\`.`,
    requests: {
      'application/json': {
        question: {
          summary: 'A question',
          value: { threadId: 'example-ag-ui', runId: 'example-ag-ui-1', messages: [{ id: '1', role: 'user', content: question }] },
        },
      },
    },
  },
  postUiChat: {
    description: `The UI message stream (version 1) of the AI SDK: \`useChat\` with a \`DefaultChatTransport\` whose \`api\` is this address. \`id\` is the session. Passages that the answer rests on are \`source-document\` parts. Failures of the run are an \`error\` part; refusals for the key, the shape of the request, limits and load are HTTP errors.

**Approvals.** A call that waits is a \`tool-approval-request\`. The page sends the message again with the user's answers, and the stream is the rest of the run. A call of one of \`client_tools\` is answered in the same way. \`client_tools\`, \`data_filter_hints\`, \`auto_memory_retain\`, \`context_files\`, \`response_schema\` and \`on_disconnect\` have the meaning that they have in \`POST /core/v1/chain\`.`,
    requests: {
      'application/json': {
        question: {
          summary: 'A question',
          value: { id: 'example-ui-chat', messages: [{ id: '1', role: 'user', parts: [{ type: 'text', text: question }] }] },
        },
      },
    },
  },
  getUiChatByIdStream: {
    description:
      'For `useChat` with `resume: true`: a page that is loaded again follows the run of its chat. The stream has the whole message, which replaces the one that the page has. It ends with the requests of a run that waits for approval. 204: the last run of the chat has ended, or there is no such chat.',
    parameters: { id: 'example-ui-chat' },
  },
}
