import { Type, type TSchema } from 'typebox'
import { clientToolName, Id, maxClientTools } from '../../resources/schemas.ts'

/** The request of AG-UI 1.0, `RunAgentInput`. Unknown fields are ignored. */

const maxMessages = 2000

function maybe<T extends TSchema>(schema: T) {
  return Type.Optional(Type.Union([schema, Type.Null()]))
}

const Part = Type.Object({
  type: Type.Enum(['text', 'image', 'audio', 'video', 'document', 'binary'], {
    description: 'A text, or a file. Files that the model does not take are refused.',
  }),
  text: maybe(Type.String()),
  source: maybe(
    Type.Object(
      { type: Type.Enum(['data', 'url']), value: Type.String(), mimeType: maybe(Type.String()) },
      { description: 'The bytes of a file in base64, or a data: URL.' },
    ),
  ),
  mimeType: maybe(Type.String({ description: 'The media type of a `binary` part.' })),
  filename: maybe(Type.String({ maxLength: 1000, description: 'The name of a `binary` part.' })),
  data: maybe(Type.String({ description: 'The bytes of a `binary` part in base64.' })),
  url: maybe(Type.String({ description: 'The address of a `binary` part: a data: URL.' })),
})

const Message = Type.Object({
  id: Type.Optional(Type.Unknown({ description: 'Ignored.' })),
  role: Type.Enum(['user', 'assistant', 'system', 'developer', 'tool', 'reasoning', 'activity']),
  content: Type.Optional(Type.Union([Type.String(), Type.Array(Part), Type.Object({}), Type.Null()])),
  toolCallId: maybe(Type.String({ description: 'The call that a message of role `tool` answers.' })),
  error: maybe(Type.String({ description: 'Why the tool failed.' })),
})

const Tool = Type.Object({
  name: clientToolName,
  description: maybe(Type.String({ maxLength: 16_384 })),
  parameters: Type.Optional(Type.Unknown({ description: 'The JSON Schema of the input.' })),
})

export const RunAgentInput = Type.Object(
  {
    threadId: Type.String({ ...Id, description: 'The conversation: the id of the session.' }),
    runId: Type.String({ ...Id, description: 'The run: the request id.' }),
    messages: Type.Array(Message, {
      maxItems: maxMessages,
      description:
        'The conversation, with the question last. The service has the earlier turns of its sessions, and reads them from there.',
    }),
    tools: maybe(Type.Array(Tool, { maxItems: maxClientTools, description: 'Tools that the page runs.' })),
    context: maybe(
      Type.Array(Type.Object({ description: Type.String(), value: Type.String() }), {
        description: 'What the page shows. The model is told for this question alone.',
      }),
    ),
    state: Type.Optional(Type.Unknown({ description: 'The state of the page. The plan of the run is added to it.' })),
    forwardedProps: Type.Optional(Type.Unknown({ description: 'Ignored.' })),
    resume: maybe(
      Type.Array(
        Type.Object({
          interruptId: Type.String(),
          status: Type.Enum(['resolved', 'cancelled']),
          payload: Type.Optional(
            Type.Unknown({
              description: 'What the `responseSchema` of the interrupt describes, mostly `{approved, editedArgs?, reason?}`.',
            }),
          ),
        }),
        { description: 'Answers to the interrupts of the run that waits.' },
      ),
    ),
  },
  { description: 'The input of a run in AG-UI 1.0. Fields that are not listed are ignored.' },
)

export type RunAgentInput = Type.Static<typeof RunAgentInput>

export const AgUiEvent = Type.Object(
  { type: Type.String({ description: 'The name of the event, such as `TEXT_MESSAGE_CONTENT`.' }) },
  { additionalProperties: true, description: 'An event of AG-UI; `type` decides on the other fields.' },
)
