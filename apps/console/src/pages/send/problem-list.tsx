import { Anchor, List } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { WarningAlert } from '../../components/warning-alert.tsx'
import type { FieldName } from './fields.ts'

export type ShownProblem = { field: FieldName; label: string; text: string }

type Props = { problems: readonly ShownProblem[]; onSelect(field: FieldName): void }

/** What has to be corrected before the push can be sent, beside the button that was pressed. */
export function ProblemList({ problems, onSelect }: Props) {
  const { t } = useTranslation()
  return (
    <WarningAlert color="red" title={t('send.problems')}>
      <List size="sm">
        {problems.map(({ field, label, text }) => (
          <List.Item key={field}>
            <Anchor component="button" type="button" size="sm" onClick={() => onSelect(field)}>
              {label}
            </Anchor>
            {t('app.colon')}
            {text}
          </List.Item>
        ))}
      </List>
    </WarningAlert>
  )
}
