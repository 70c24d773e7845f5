import { a2aTexts } from './a2a.ts'
import { accessTexts } from './access.ts'
import { artifactTexts } from './artifacts.ts'
import { chatTexts } from './chat.ts'
import { configurationTexts } from './configuration.ts'
import { fileTexts } from './files.ts'
import { knowledgeTexts } from './knowledge.ts'
import { memoryTexts } from './memories.ts'
import { observabilityTexts } from './observability.ts'
import { openAiTexts } from './openai.ts'
import type { OperationTexts } from './operation-text.ts'
import { protocolTexts } from './protocols.ts'
import { responseTexts } from './responses.ts'
import { runTexts } from './runs.ts'
import { serviceTexts } from './service.ts'
import { sessionTexts } from './sessions.ts'
import { subAgentTexts } from './sub-agents.ts'
import { toolTexts } from './tools.ts'

/** Texts of all operations, by operation id. */
export const operationTexts: OperationTexts = {
  ...chatTexts,
  ...sessionTexts,
  ...runTexts,
  ...toolTexts,
  ...subAgentTexts,
  ...knowledgeTexts,
  ...memoryTexts,
  ...artifactTexts,
  ...configurationTexts,
  ...accessTexts,
  ...observabilityTexts,
  ...openAiTexts,
  ...responseTexts,
  ...fileTexts,
  ...protocolTexts,
  ...a2aTexts,
  ...serviceTexts,
}
