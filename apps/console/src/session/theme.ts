import { type CSSVariablesResolver, createTheme, type MantineColorsTuple } from '@mantine/core'

const herald: MantineColorsTuple = [
  '#e6f7f8',
  '#d3ecee',
  '#a8d9dd',
  '#79c5cb',
  '#52b4bc',
  '#39a9b3',
  '#1f97a2',
  '#0b7a85',
  '#0b6b75',
  '#075862',
]

export const theme = createTheme({
  primaryColor: 'herald',
  primaryShade: { light: 8, dark: 8 },
  colors: { herald },
  defaultRadius: 'md',
  fontFamily:
    'system-ui, -apple-system, "Segoe UI", Roboto, "PingFang SC", "Microsoft YaHei", "Noto Sans CJK SC", sans-serif',
  headings: { fontWeight: '650', sizes: { h1: { fontSize: '1.5rem' }, h2: { fontSize: '1.05rem' } } },
  cursorType: 'pointer',
  respectReducedMotion: true,
  components: {
    // Hints below the input keep inputs next to each other aligned.
    InputWrapper: { defaultProps: { inputWrapperOrder: ['label', 'input', 'description', 'error'] } },
    NavLink: { defaultProps: { bdrs: 'md' } },
    // It is no banner of the page.
    ModalHeader: { defaultProps: { role: 'presentation' } },
    ModalTitle: { defaultProps: { fw: 650, fz: 'lg' } },
  },
})

/** Mantine's default greys and reds have too little contrast for small text. */
export const variables: CSSVariablesResolver = () => ({
  variables: {},
  light: {
    '--mantine-color-dimmed': '#52595f',
    '--mantine-color-placeholder': '#6a7178',
    '--mantine-color-error': '#b42323',
    '--mantine-color-anchor': '#075862',
    '--mantine-color-body': '#ffffff',
    '--herald-background': '#f5f7f8',
    '--herald-shadow': 'rgb(0 0 0 / 22%)',
    '--mantine-color-yellow-light-color': '#7a4d00',
    '--mantine-color-orange-light-color': '#8f3d00',
    '--herald-warning': '#8a4b00',
  },
  dark: {
    '--mantine-color-dimmed': '#b3bac0',
    '--mantine-color-placeholder': '#9aa1a7',
    '--mantine-color-error': '#ff9b9b',
    '--mantine-color-anchor': '#79c5cb',
    '--herald-background': '#1a1b1e',
    '--herald-shadow': 'rgb(0 0 0 / 70%)',
    '--herald-warning': '#ffc078',
  },
})
