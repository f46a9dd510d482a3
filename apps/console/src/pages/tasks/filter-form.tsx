import { shownTaskStates } from '@herald/domain'
import { Button, Group, NativeSelect, SegmentedControl, Stack, TextInput } from '@mantine/core'
import type { FormEvent, ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import type { TaskFilter } from '../../calculations/task-filter.ts'
import { FilterFold } from '../../components/filter-fold.tsx'
import { useTyped } from '../../components/use-typed.ts'
import { useLabels } from '../../i18n/labels.ts'

type Props = { filter: TaskFilter; onChange(changed: Partial<TaskFilter>): void; children: ReactNode }

/** Choices apply at once; what is typed by Enter or the button, not by each letter. */
export function FilterForm({ filter, onChange, children }: Props) {
  const { t } = useTranslation()
  const { taskState } = useLabels()
  const { state, title, campaign, from, to, min, actor } = filter
  const { typed, input, submit, clear } = useTyped({ title, campaign, from, to, min, actor })
  const field = (name: keyof typeof typed) => ({ ...input(name), label: t(`tasks.filters.${name}`) })
  const used = [state, title, campaign, from, to, min, actor].filter((value) => value !== '').length
  const isBlank = used === 0 && Object.values(typed).every((value) => value === '')
  return (
    <Stack gap="sm">
      <Group justify="space-between" align="flex-end">
        <SegmentedControl
          aria-label={t('tasks.which')}
          value={filter.all}
          onChange={(all) => onChange({ all })}
          data={[
            { value: '', label: t('tasks.broadcasts') },
            { value: '1', label: t('tasks.all') },
          ]}
        />
        {children}
      </Group>
      <FilterFold used={used}>
        <form
          onSubmit={(event: FormEvent) => {
            event.preventDefault()
            onChange(submit())
          }}
        >
          <Group align="flex-end" gap="sm">
            <NativeSelect
              label={t('tasks.state')}
              value={state}
              onChange={({ currentTarget }) => onChange({ state: currentTarget.value })}
              data={[
                { value: '', label: t('tasks.anyState') },
                ...shownTaskStates.map((value) => ({ value, label: taskState(value) })),
              ]}
            />
            <TextInput {...field('title')} maxLength={256} w={170} />
            <TextInput {...field('campaign')} maxLength={64} w={130} />
            <TextInput {...field('from')} type="date" w={140} />
            <TextInput {...field('to')} type="date" w={140} />
            <TextInput {...field('min')} inputMode="numeric" pattern="[1-9][0-9]{0,8}" w={110} />
            <TextInput {...field('actor')} w={110} maxLength={256} />
            <Button type="submit" variant="default">
              {t('tasks.filter')}
            </Button>
            {!isBlank && (
              <Button variant="subtle" onClick={() => onChange({ ...clear(), state: '' })}>
                {t('tasks.clearFilter')}
              </Button>
            )}
          </Group>
        </form>
      </FilterFold>
    </Stack>
  )
}
