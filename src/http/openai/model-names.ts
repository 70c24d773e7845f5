import type { AgentConfig } from '../../configuration/schema.ts'
import { ServiceError } from '../../errors.ts'

/** Throws unless `model` is the `uri_id`, `id` or `name` of the agent. */
export function refuseOtherModel(model: string, { id, uri_id: uriId, name }: AgentConfig): void {
  if (model === uriId || model === id || model === name) return
  const faults = [{ loc: ['body', 'model'], msg: `there is no model ${model}; use ${uriId}`, type: 'model_not_found' }]
  throw new ServiceError('not_found', `There is no model ${model}.`, { faults })
}
