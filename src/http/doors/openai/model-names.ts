import type { AgentConfig } from '../../../configuration/schema.ts'
import { ServiceError } from '../../../errors.ts'

/** Whether a model of a request is the `uri_id`, `id` or `name` of the agent. */
export function isAgent(model: string, { id, uri_id: uriId, name }: AgentConfig): boolean {
  return model === uriId || model === id || model === name
}

/** Throws unless `model` is a name of the agent. */
export function refuseOtherModel(model: string, config: AgentConfig): void {
  if (isAgent(model, config)) return
  const { uri_id: uriId } = config
  const faults = [{ loc: ['body', 'model'], msg: `there is no model ${model}; use ${uriId}`, type: 'model_not_found' }]
  throw new ServiceError('not_found', `There is no model ${model}.`, { faults })
}
