import { describeRefusal } from '../configuration/change/gate.ts'
import { ofFiles } from '../configuration/file/refused-edit.ts'
import type { Finding } from '../models/check-models.ts'
import { checkGate } from '../service/checks/gate.ts'
import type { Settings } from '../settings/settings.ts'
import { withGate } from './used-configuration.ts'

/** What the gate of the recorded configuration says of that configuration, and of an edit of the file. No finding without a gate. */
export async function examineGate(settings: Settings): Promise<Finding[]> {
  const findings = await withGate(settings, async ({ running, pins, find, refusal, isEdited }): Promise<Finding[]> => {
    const advice =
      'Run an experiment with the file as its candidate ("agent-core eval run"): a running service takes over the edit once it passes. Or send the file with an override, or take the edit back.'
    const text = refusal && `gate: ${describeRefusal(refusal, isEdited ? `The edit of ${settings.agentConfig}` : ofFiles)}`
    return [...(await checkGate(running.config, pins, find)), ...(text === undefined ? [] : [{ state: 'warn' as const, text, advice }])]
  })
  return findings ?? []
}
