import { Button } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { IconFilter } from '@tabler/icons-react'
import { type ReactNode, useId } from 'react'
import { useTranslation } from 'react-i18next'

/** On a phone the fields of a filter are folded, so that the list begins on the first screen. `used`: fields that filter the list. */
export function FilterFold({ used, children }: { used: number; children: ReactNode }) {
  const { t } = useTranslation()
  const [opened, { toggle }] = useDisclosure(false)
  const id = useId()
  return (
    <div>
      <Button
        hiddenFrom="sm"
        variant="default"
        leftSection={<IconFilter size={16} aria-hidden />}
        aria-expanded={opened}
        aria-controls={id}
        onClick={toggle}
      >
        {used === 0 ? t('app.filters') : t('app.filtersUsed', { n: used })}
      </Button>
      <div id={id} className={opened ? 'fold' : 'fold folded'}>
        {children}
      </div>
    </div>
  )
}
