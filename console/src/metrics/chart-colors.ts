import { useComputedColorScheme, useMantineTheme } from '@mantine/core'

export interface ChartColors {
  /** Colours of the lines, in their order; the last is for all other groups. */
  lines: readonly string[]
  bad: string
  text: string
  grid: string
}

const light = ['#3f58d6', '#0f8a7e', '#b45f06', '#8e3fb0', '#b83280', '#4d7c0f', '#6b7280']
const dark = ['#8194ee', '#3cc4b4', '#e8a04c', '#c58be0', '#ec7fb8', '#a3cc5b', '#9aa1b0']

/** Groups with an own line; other groups share a line. */
export const maxLines = light.length - 1

/** Colours of the theme for a canvas, which knows no CSS variables. */
export function useChartColors(): ChartColors {
  const { colors } = useMantineTheme()
  const isDark = useComputedColorScheme('light') === 'dark'
  return isDark
    ? { lines: dark, bad: '#ff9d94', text: colors.dark[2], grid: colors.dark[5] }
    : { lines: light, bad: '#c9362d', text: colors.gray[6], grid: colors.gray[2] }
}
