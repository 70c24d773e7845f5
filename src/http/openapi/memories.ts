import type { OperationTexts } from './operation-text.ts'

export const memoryTexts: OperationTexts = {
  getMemories: {
    description:
      'What the agent has retained about the caller: facts, preferences and lessons, each with the message that confirmed it last. A chat with `auto_memory_retain: true` is learned from after its answer, and feedback with a comment. Try it: `{"messages": [{"role": "user", "content": "My name is Ada."}], "auto_memory_retain": true}`.',
  },
  deleteMemoriesById: {
    description:
      'Deletes a memory; later chats do not recall it. Take an `id` from `GET /core/v1/memories`. A memory of another caller is 404.',
  },
}
