/** Addresses of the screens below `/evals`. */
export const datasetHref = (id: string): string => `/evals/datasets/${encodeURIComponent(id)}`
