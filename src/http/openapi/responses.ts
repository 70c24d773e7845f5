import type { OperationTexts } from './named.ts'

const question = 'What were the total sales by region?'
const responseId = { response_id: 'resp_0198f0a4-6a1e-7c3b-9f52-2d4c6b8e1a70' }
const conversationId = { conversation_id: 'conv_0198f0a4-6a1e-7c3b-9f52-2d4c6b8e1a71' }

const tool = {
  type: 'function',
  name: 'get_location',
  description: 'The place where the user is now.',
  parameters: { type: 'object', properties: {} },
}

const unknownId = '404: the caller has no such response; responses with `store: false`, and those of other callers, are unknown too.'
const unknownConversation = '404: the caller has no such conversation.'

const page = { limit: 20, order: 'asc', after: 'msg_0198f0a4-6a1e-7c3b-9f52-2d4c6b8e1a70~1_0' }

/** Texts of responses and conversations. */
export const responseTexts: OperationTexts = {
  postV1Responses: {
    description: `Asks the agent through the interface of OpenAI's responses. A response is a run, named \`resp_<request id>\`: it can be read, followed and cancelled later, and continued by \`previous_response_id\`. With \`stream: true\` the reply is server-sent events from \`response.created\` to \`response.completed\`, \`response.incomplete\` or \`response.failed\`.

\`output\` has the text before tool calls as messages with the phase \`commentary\`, and the answer with the phase \`final_answer\`. Tools of the agent run inside of it and are not shown. Calls of the request's own function tools end the response as \`function_call\` items; a request with their \`function_call_output\` items resumes the run, and its response is \`resp_<request id>~2\`, \`~3\` and so on.

Documents that the answer rests on are annotations \`file_citation\` of its text: \`index\` is the end of the cited part of the answer, \`file_id\` the id of an uploaded document or the path of a file. Web pages are annotations \`url_citation\` of the part of the text that they support. Files that the run made are links at the end of the text, with annotations \`url_citation\`.

\`previous_response_id\` continues the conversation. A response that is not the last one of its conversation starts a branch. \`conversation\` names a session instead, as \`conv_<session id>\`.

Each parameter has its effect, or is a 400 that names it. Errors have the shape of OpenAI's API.

404: the model is not this agent; the previous response, the conversation or a referenced item is unknown. 409, 410, 502: as for \`POST /core/v1/chain\`.`,
    requests: {
      'application/json': {
        question: { summary: 'A question', value: { model: 'agent-core', input: question } },
        stream: { summary: 'A streamed answer', value: { model: 'agent-core', input: question, stream: true } },
        background: { summary: 'In the background', value: { model: 'agent-core', input: question, background: true } },
        tools: {
          summary: 'With a tool of the client',
          value: { model: 'agent-core', input: 'Where am I?', tools: [tool], tool_choice: 'required' },
        },
      },
    },
  },
  getV1ResponsesByResponseId: {
    description: `The response in its current state. With \`stream=true\`, its events from the start, or after the \`sequence_number\` of \`starting_after\`, then live: with the same numbers on every replica.

${unknownId}`,
    parameters: { ...responseId, stream: false, starting_after: 4 },
  },
  postV1ResponsesByResponseIdCancel: {
    description: `Cancels the run of a response, in the background or not, and returns the response. One that has ended is returned as it is.

${unknownId}`,
    parameters: responseId,
  },
  deleteV1ResponsesByResponseId: {
    description: `Cancels a response if it has not ended, and deletes it. The only response of a session is deleted with the session. Otherwise the messages stay in the conversation, until the conversation is deleted.

${unknownId}`,
    parameters: responseId,
  },
  getV1ResponsesByResponseIdInputItems: {
    description: `The items that the request sent, newest first. Items of earlier responses are listed by those responses. Images are listed without their bytes.

${unknownId}`,
    parameters: { ...responseId, ...page },
  },
  postV1Conversations: {
    description:
      'Creates a session, empty or with messages, for `conversation` of responses. `metadata` is kept with it. The session is also at `GET /core/v1/sessions`, once it has a message.',
    requests: {
      'application/json': {
        empty: { summary: 'An empty conversation', value: { metadata: { topic: 'sales' } } },
        messages: {
          summary: 'With messages',
          value: {
            items: [
              { type: 'message', role: 'user', content: 'Call me Ada.' },
              { type: 'message', role: 'assistant', content: 'Hello Ada.' },
            ],
          },
        },
      },
    },
  },
  getV1ConversationsByConversationId: {
    description: `The conversation with its metadata. Every session of the caller is a conversation, also one of another route.

${unknownConversation}`,
    parameters: conversationId,
  },
  postV1ConversationsByConversationId: {
    description: `Replaces the metadata.

${unknownConversation}`,
    parameters: conversationId,
    requests: { 'application/json': { metadata: { summary: 'New metadata', value: { metadata: { topic: 'units' } } } } },
  },
  deleteV1ConversationsByConversationId: {
    description: `Cancels the runs of the session, and deletes all of its data, responses included.

${unknownConversation}`,
    parameters: conversationId,
  },
  getV1ConversationsByConversationIdItems: {
    description: `The messages, newest first. Tool calls are part of their turn and not listed.

${unknownConversation}`,
    parameters: { ...conversationId, ...page },
  },
  postV1ConversationsByConversationIdItems: {
    description: `Adds messages without asking the agent. A \`function_call\` with its output becomes part of the assistant message behind it. System messages are accepted at the start of a conversation; items cannot be removed one by one.

${unknownConversation} 409: a response of the conversation is in progress.`,
    parameters: conversationId,
    requests: {
      'application/json': {
        message: { summary: 'A message', value: { items: [{ type: 'message', role: 'user', content: 'I work in the North region.' }] } },
      },
    },
  },
  getV1ConversationsByConversationIdItemsByItemId: {
    description: `A message of a conversation.

${unknownConversation} The same holds for an unknown item.`,
    parameters: { ...conversationId, item_id: 'msg_0198f0a4-6a1e-7c3b-9f52-2d4c6b8e1a71~0' },
  },
}
