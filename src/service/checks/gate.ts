import type { FindEvidence, GateExperiment } from '../../configuration/change/gate.ts'
import { hashOf } from '../../configuration/hash.ts'
import type { AgentConfig } from '../../configuration/schema.ts'
import type { SkillPins } from '../../configuration/skills/pins.ts'
import type { Finding } from '../../models/check-models.ts'

/** States whether changes of a configuration can pass its gate, and what the configuration itself has achieved. No finding without a gate. */
export async function checkGate(config: AgentConfig, pins: SkillPins, find: FindEvidence): Promise<Finding[]> {
  const dataset = config.releases?.gate?.dataset
  if (dataset === undefined) return []
  const evidence = await find(dataset, hashOf(config, pins))
  const name = JSON.stringify(dataset)
  const advice = 'Until then each change of the configuration needs an override.'
  if (!evidence)
    return [{ state: 'warn', text: `gate: the administrators' tenant has no dataset ${name}`, advice: `Create the dataset. ${advice}` }]
  if (evidence.examples === 0)
    return [{ state: 'warn', text: `gate: the dataset ${name} has no examples`, advice: `Add examples. ${advice}` }]
  return [{ state: 'ok', text: `gate: on, with the dataset ${name}; ${describe(evidence.experiment)}` }]
}

function describe(experiment: GateExperiment | undefined): string {
  if (!experiment) return 'no experiment has tried the configuration in use'
  const { id, passRate = 0, added, endedAt } = experiment
  const figures = `pass rate ${passRate}, ${added} added or changed writes`
  return `newest experiment of the configuration in use: ${id}, ${figures}, ended ${new Date(endedAt).toISOString()}`
}
