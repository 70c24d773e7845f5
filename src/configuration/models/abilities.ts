import { reasoningEfforts } from '../../agent/model.ts'
import { claudeRows } from './claude.ts'
import { geminiRows } from './gemini.ts'
import { openaiRows } from './openai.ts'
import { openModelRows } from './open-models.ts'
import { noAbilities, type ModelAbilities, type Row, type Wire } from './row.ts'
import { findProvider, type LackedParameter, type ProviderTraits } from '../providers.ts'
import type { ModelConfig } from '../model-schema.ts'

/**
 * What the models of the providers can do. The folder `model-rows` is the only place with names of models. A model that no row names has the
 * abilities of the newest family of its provider, and a server of unknown models those of OpenAI's chat completions.
 */

export type { ModelAbilities, Wire }

type WireConfig = Pick<ModelConfig, 'provider' | 'wire' | 'base_url' | 'api_version'>

/** The wire on which a configured model is called. */
export function wireOf(config: WireConfig): Wire {
  const traits = findProvider(config.provider)
  if (traits?.wire !== 'chat-completions') return traits?.wire ?? 'embedded'
  if (traits.responses === undefined) return 'chat-completions'
  return config.wire ?? (traits.responses === 'default' && !namesDeployment(config) ? 'responses' : 'chat-completions')
}

/** Parameters of OpenAI's API that a configured model does not have, whatever its name. */
export function parametersLackedBy(config: WireConfig): readonly LackedParameter[] {
  const { lacks = [] }: Partial<ProviderTraits> = findProvider(config.provider) ?? {}
  return wireOf(config) === 'responses' ? lackedByResponses : lacks
}

const lackedByResponses: readonly LackedParameter[] = ['seed', 'presence_penalty', 'frequency_penalty']

/** The address of a deployment on Azure, and a dated version, were written for chat completions. */
function namesDeployment({ provider, base_url: baseUrl = '', api_version: version = '' }: WireConfig): boolean {
  return provider === 'azure' && (baseUrl.includes('/deployments/') || /^\d/.test(version))
}

type Model = WireConfig & Pick<ModelConfig, 'model'>

/** The abilities of a configured model. The field `images` of the configuration is not applied here. */
export function abilitiesOf(config: Model): ModelAbilities {
  return { ...unknownModel, ...findRow(config)?.abilities }
}

/** Where the knowledge of a model is from: a row of the table that names the model, or what is assumed of models that the table does not name. */
export function sourceOfAbilities(config: Model): 'table' | 'default' {
  return findRow(config)?.model === undefined ? 'default' : 'table'
}

function findRow(config: Model): Row | undefined {
  const wire = wireOf(config)
  return rows.find(({ providers, model, wires = [wire] }) => {
    return providers.includes(config.provider) && wires.includes(wire) && (model?.test(config.model) ?? true)
  })
}

/** A server of unknown models. */
const unknownModel: ModelAbilities = {
  ...noAbilities,
  tools: true,
  parallelTools: true,
  structuredOutput: 'without_tools',
  efforts: reasoningEfforts,
  reasoningSummary: true,
  images: true,
  cache: 'automatic',
}

/** The first fitting row counts. */
const rows: readonly Row[] = [...claudeRows, ...geminiRows, ...openaiRows, ...openModelRows]
