// Generics, closures, iterators and traits, for lines.sh: nobody runs it.
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::fmt::{Debug, Display};
use std::io::{BufRead, Write};

trait Shape {
    fn area(&self) -> f64;
    fn name(&self) -> String {
        format!("shape of {:.2}", self.area())
    }
}

#[derive(Debug, Clone, PartialEq)]
struct Square<T>(T);
#[derive(Debug, Clone)]
enum Word {
    Number(i64),
    Text(String),
    Many(Vec<Word>),
}

impl<T: Copy + Into<f64>> Shape for Square<T> {
    fn area(&self) -> f64 {
        let side: f64 = self.0.into();
        side * side
    }
}

mod parse {
    use super::Word;

    pub fn words(line: &str) -> Vec<Word> {
        line.split(|c: char| c.is_whitespace() || c == ',')
            .filter(|w| !w.is_empty())
            .map(|w| w.parse().map_or_else(|_| Word::Text(w.to_uppercase()), Word::Number))
            .collect()
    }

    pub fn depth(word: &Word) -> usize {
        match word {
            Word::Many(inner) => 1 + inner.iter().map(depth).max().unwrap_or(0),
            _ => 1,
        }
    }
}

fn count<K: std::hash::Hash + Eq + Clone + Ord + Debug, I: Iterator<Item = K>>(all: I) -> Vec<(K, usize)> {
    let mut seen = HashMap::new();
    for k in all {
        *seen.entry(k).or_insert(0usize) += 1;
    }
    let mut out: Vec<_> = seen.into_iter().collect();
    out.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    out
}

fn show<T: Display + ?Sized>(what: &T, to: &mut dyn Write) -> std::io::Result<()> {
    writeln!(to, "{:>20}", what)
}

fn main() -> std::io::Result<()> {
    let input = std::io::stdin();
    let out = std::io::stdout();
    let mut to = out.lock();
    let mut queue: VecDeque<Word> = VecDeque::new();
    let mut tree: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for line in input.lock().lines() {
        let line = line?;
        let words = parse::words(&line);
        queue.push_back(Word::Many(words.clone()));
        for (i, w) in words.iter().enumerate() {
            match w {
                Word::Number(n) => tree.entry(n.to_string()).or_default().push(*n as f64 / (i + 1) as f64),
                Word::Text(t) => tree.entry(t.clone()).or_default().push(t.len() as f64),
                Word::Many(_) => (),
            }
        }
        let letters = count(line.chars().filter(|c| c.is_alphabetic()));
        let lengths = count(line.split(' ').map(str::len));
        show(&format!("{:?} {:?}", letters, lengths), &mut to)?;
    }
    let shapes: Vec<Box<dyn Shape>> = vec![Box::new(Square(2i32)), Box::new(Square(1.5f32)), Box::new(Square(3u8))];
    for s in &shapes {
        show(s.name().as_str(), &mut to)?;
    }
    while let Some(w) = queue.pop_front() {
        show(&parse::depth(&w), &mut to)?;
        if let Word::Many(inner) = w {
            queue.extend(inner);
        }
    }
    for (k, v) in tree {
        let sum: f64 = v.iter().zip(v.iter().rev()).map(|(a, b)| a * b).sum();
        writeln!(to, "{k}: {sum:.3}")?;
    }
    Ok(())
}
