import { a2aTexts } from './a2a.ts'
import { chatTexts } from './chat.ts'
import { openAiTexts } from './openai.ts'
import { protocolTexts } from './protocols.ts'
import { responseTexts } from './responses.ts'
import { runTexts } from './runs.ts'
import type { OperationTexts } from './named.ts'

/** Texts of all operations, by operation id. */
export const operationTexts: OperationTexts = {
  ...chatTexts,
  ...runTexts,
  ...openAiTexts,
  ...responseTexts,
  ...protocolTexts,
  ...a2aTexts,
}
