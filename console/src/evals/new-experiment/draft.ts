import type { NewExperiment } from '../experiment-queries.ts'

type Variant = NonNullable<NewExperiment['candidate']>

const candidates = ['none', 'version', 'text', 'patch'] as const

/** The fields of the form. Texts of a candidate stay while another kind is chosen. */
export interface Draft {
  baseline: 'current' | 'recorded' | 'version'
  baselineVersion: string | undefined
  candidate: (typeof candidates)[number]
  candidateVersion: string | undefined
  /** Undefined until the text in use is loaded. */
  text: string | undefined
  patch: unknown
  repetitions: number
  onMiss: 'fail' | 'error' | 'live'
  live: readonly string[]
}

export const newDraft: Draft = {
  baseline: 'current',
  baselineVersion: undefined,
  candidate: 'none',
  candidateVersion: undefined,
  text: undefined,
  patch: undefined,
  repetitions: 1,
  onMiss: 'fail',
  live: [],
}

/** The draft of an address, which may name the candidate. */
export function toDraft(search: URLSearchParams): Draft {
  const candidate = candidates.find((kind) => kind === search.get('candidate')) ?? 'none'
  return { ...newDraft, candidate, candidateVersion: search.get('version') ?? undefined }
}

/** The request of a draft; undefined while a part is missing. */
export function toExperiment(dataset: string, draft: Draft): NewExperiment | undefined {
  const { repetitions, onMiss, live } = draft
  const baseline = baselineOf(draft)
  const candidate = candidateOf(draft)
  const isCounted = Number.isInteger(repetitions) && repetitions >= 1 && repetitions <= 10
  if (baseline === 'missing' || candidate === 'missing' || !isCounted) return undefined
  return {
    dataset_id: dataset,
    ...(baseline && { baseline }),
    ...(candidate && { candidate }),
    repetitions,
    tools: { on_miss: onMiss, live: onMiss === 'live' ? [...live] : [] },
  }
}

function baselineOf({ baseline, baselineVersion: version }: Draft): Variant | undefined | 'missing' {
  if (baseline === 'recorded') return { recorded: true }
  if (baseline === 'current') return undefined
  return version === undefined ? 'missing' : { version }
}

function candidateOf({ candidate, candidateVersion: version, text, patch }: Draft): Variant | undefined | 'missing' {
  switch (candidate) {
    case 'none':
      return undefined
    case 'version':
      return version === undefined ? 'missing' : { version }
    case 'text':
      return text === undefined || text.trim() === '' ? 'missing' : { text }
    case 'patch':
      return isObject(patch) ? { patch } : 'missing'
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
