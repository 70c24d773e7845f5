import type { ModelAbilities } from '../configuration/models/abilities.ts'
import type { ListedModel } from '../configuration/models/findings.ts'

/** What the service believes that a model can do, as one line. */
export function describeAbilities({ wire, abilities, source }: ListedModel): string {
  const parts = [
    `wire ${wire}`,
    toTools(abilities),
    toSchemas(abilities),
    toReasoning(abilities),
    toMedia(abilities),
    abilities.cache === 'none' ? 'no prompt cache' : `prompt cache: ${abilities.cache}`,
    ...(abilities.providerTools.length > 0 ? [`tools of the provider: ${abilities.providerTools.join(', ')}`] : []),
  ]
  return `${parts.join('; ')}${source === 'default' ? ' (assumed: the model is not in the table)' : ''}`
}

function toTools({ tools, parallelTools, strictTools }: ModelAbilities): string {
  if (!tools) return 'no tools'
  return ['tools', ...(parallelTools ? [] : ['one at a time']), ...(strictTools ? ['strict'] : [])].join(', ')
}

function toSchemas({ structuredOutput }: ModelAbilities): string {
  const texts = { with_tools: 'schemas beside tools', without_tools: 'schemas without tools', none: 'schemas by instruction' }
  return texts[structuredOutput]
}

function toReasoning({ efforts, reasoningTokens }: ModelAbilities): string {
  if (efforts.length === 0) return reasoningTokens ? 'reasoning in tokens' : 'no reasoning effort'
  return `reasoning ${efforts.join(', ')}${reasoningTokens ? ' or in tokens' : ''}`
}

function toMedia({ images, documents, audio, video }: ModelAbilities): string {
  const kinds = Object.entries({ images, PDF: documents, audio, video }).flatMap(([kind, isRead]) => (isRead ? [kind] : []))
  return kinds.length > 0 ? `reads ${kinds.join(', ')}` : 'reads text only'
}
