import type { Identity } from '../../access/identity.ts'
import type { ConfigData } from '../../configuration/change/merge.ts'
import type { SkillPins } from '../../configuration/skills/pins.ts'
import type { OnMiss } from '../replay/answers.ts'
import type { Scorer } from '../scorers/scorer.ts'

/** The agent that answers the questions of an experiment. */
export type Variant =
  /** A recorded version of the configuration. */
  | { kind: 'version'; version: string }
  /** A merge patch on a version; default: the configuration in use. */
  | { kind: 'patch'; patch: ConfigData; base?: string }
  /** A whole agent.yaml. */
  | { kind: 'text'; text: string }
  /** The replies of the models come from the recording too. */
  | { kind: 'recorded' }

export interface ExperimentTools {
  onMiss: OnMiss
  /** Names of tools that may read for `onMiss: live`. */
  live: readonly string[]
}

/** A dataset as an experiment has frozen the dataset. */
export interface ExperimentDataset {
  id: string
  name: string
  revision: number
  /** Number of examples. */
  examples: number
}

/** Everything that decides what an experiment does, frozen when the experiment is made. The configurations stand beside it, encrypted. */
export interface ExperimentSpec {
  /** The owner, whose permissions count while the experiment runs. */
  identity: Identity
  datasets: ExperimentDataset[]
  repetitions: number
  scorers: readonly Scorer[]
  tools: ExperimentTools
  /** The baseline first. */
  variants: VariantSpec[]
}

export interface VariantSpec {
  kind: Variant['kind']
  version?: string
  configHash?: string
  /** The files of skills and modules; undefined for experiments of former releases. */
  pins?: SkillPins
  /** True where tools are opened that were not in use. */
  opensTools?: boolean
}

/** The configuration of a variant as written: references to variables stay references. */
export interface FrozenVariant extends VariantSpec {
  data: ConfigData
}

/** The name under which the configurations of an experiment are encrypted. */
export function experimentName(id: string): string {
  return `experiment ${id}`
}

/** Number of results of one variant on one dataset. */
export function resultsDue({ examples }: ExperimentDataset, repetitions: number): number {
  return examples * repetitions
}

/** Number of results of a whole experiment. */
export function totalOf({ datasets, repetitions, variants }: Pick<ExperimentSpec, 'datasets' | 'repetitions' | 'variants'>): number {
  return datasets.reduce((sum, dataset) => sum + resultsDue(dataset, repetitions), 0) * variants.length
}
