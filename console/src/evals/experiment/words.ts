import type { EffectCounts, Experiment, VariantResult, Variant } from '../experiment-queries.ts'

/** The configuration of a variant: `version 1f3a…`, `a patch`. */
export function describeVariant({ kind, version }: Pick<Variant, 'kind' | 'version'>): string {
  switch (kind) {
    case 'version':
      return `version ${version?.slice(0, 12) ?? ''}`
    case 'patch':
      return version === null ? 'a patch' : `a patch of ${version.slice(0, 12)}`
    case 'text':
      return 'a whole agent.yaml'
    case 'recorded':
      return 'recorded replies'
  }
}

/** Both variants: `version 1f3a… → a patch`. */
export function describeVariants({ variants }: Experiment): string {
  return variants.map(describeVariant).join(' → ')
}

/** The difference from the recorded writes: `2 more, 1 changed`. */
export function describeEffects({ added, removed, changed }: EffectCounts): string {
  const counts = [
    [added, 'more'],
    [changed, 'changed'],
    [removed, 'missing'],
  ] as const
  const words = counts.filter(([count]) => count > 0).map(([count, word]) => `${count.toLocaleString('en')} ${word}`)
  return words.length === 0 ? 'none' : words.join(', ')
}

type Divergence = NonNullable<VariantResult['divergence']>

const reasons: Readonly<Record<string, string>> = {
  no_recording: 'a call that was not recorded',
  used_up: 'a call that was recorded less often',
  tool_missing: 'a call of a tool that this variant does not have',
  refused: 'this variant refuses a call that was made',
  reply_missing: 'the model was asked more often than in the recording',
  events_differ: 'other events than in the recording',
}

/** Why a replay could not follow its recording. */
export function describeDivergence({ reason, call }: Divergence): string {
  return `${reasons[reason] ?? reason}${call ? `: ${call.tool}` : ''}`
}
