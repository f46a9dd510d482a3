import { Button, Group, NativeSelect, TextInput } from '@mantine/core'
import { IconSearch } from '@tabler/icons-react'
import { useTranslation } from 'react-i18next'
import type { SearchKind } from './search.ts'
import { useTyped } from './use-typed.ts'

type Props<Kind extends SearchKind> = {
  kinds: readonly Kind[]
  by: Kind
  value: string
  onSearch(by: Kind, value: string): void
}

export function SearchForm<Kind extends SearchKind>({ kinds, by, value, onSearch }: Props<Kind>) {
  const { t } = useTranslation()
  const { input, submit } = useTyped({ by: by as string, value })
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        const typed = submit()
        onSearch(typed.by as Kind, typed.value)
      }}
    >
      <Group align="flex-end" gap="sm">
        <NativeSelect
          {...input('by')}
          label={t('devices.by')}
          data={kinds.map((kind) => ({ value: kind, label: t(`devices.${kind as SearchKind}`) }))}
        />
        <TextInput {...input('value')} className="grow" miw={180} maw={420} label={t('devices.value')} />
        <Button type="submit" leftSection={<IconSearch size={16} aria-hidden />}>
          {t('devices.search')}
        </Button>
      </Group>
    </form>
  )
}
