/** Addresses of the screens below `/evals`. */
export const datasetHref = (id: string): string => `/evals/datasets/${encodeURIComponent(id)}`
export const experimentHref = (id: string): string => `/evals/experiments/${encodeURIComponent(id)}`
export const newExperimentHref = (dataset: string): string => `/evals/new?dataset=${encodeURIComponent(dataset)}`

export function resultHref(experiment: string, { example_id: example, repetition }: { example_id: string; repetition: number }): string {
  return `${experimentHref(experiment)}/${encodeURIComponent(example)}${repetition === 1 ? '' : `?repetition=${repetition}`}`
}
